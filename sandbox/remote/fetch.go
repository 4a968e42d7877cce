package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// fetch writes a content to w. If it is cut off, it continues from there. If the whole does not
// match its hash, fetch fails.
func (o *fetched) fetch(ctx context.Context, sum string, size int64, w io.Writer) error {
	return o.c.download(ctx, "/v1/outputs/"+o.id+"/"+sum, sum, size, w)
}

func (c *client) download(ctx context.Context, path, sum string, size int64, w io.Writer) error {
	d := &download{c: c, path: path, size: size, w: w, hash: sha256.New()}
	if err := c.retryFrom(ctx, &d.at, func() error { return d.read(ctx) }); err != nil {
		return err
	}
	return d.verify(sum)
}

// download records how much of a content has been read.
type download struct {
	c    *client
	path string
	at   int64
	size int64
	w    io.Writer
	hash hash.Hash
}

// read continues reading until the end or until it is cut off.
func (d *download) read(ctx context.Context) error {
	if d.at == d.size {
		return nil
	}
	req, err := d.c.request(ctx, "GET", d.path, nil)
	if err != nil {
		return final{err}
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
	resp, err := d.c.answer(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if want := fmt.Sprintf("bytes %d-%d/%d", d.at, d.size-1, d.size); resp.Header.Get("Content-Range") != want {
		return final{fmt.Errorf("server sends %q of a content, want %q", resp.Header.Get("Content-Range"), want)}
	}
	buf := make([]byte, maxChunk)
	for d.at < d.size {
		n, err := resp.Body.Read(buf[:min(int64(len(buf)), d.size-d.at)])
		d.at += int64(n)
		d.hash.Write(buf[:n])
		if _, werr := d.w.Write(buf[:n]); werr != nil {
			return final{werr}
		}
		if err != nil && d.at < d.size {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

func (d *download) verify(want string) error {
	if sum(d.hash) != want {
		return errors.New("what the server sends does not have the hash it is named by")
	}
	return nil
}
