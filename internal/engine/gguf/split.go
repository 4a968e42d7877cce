package gguf

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// Metadata keys of a model that is split over several files.
const (
	keySplitNo    = "split.no"
	keySplitCount = "split.count"
)

// maxSplits limits the number of files that a file can cause to be opened. File names have five
// digits for this number.
const maxSplits = 99999

var splitName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// openSplits opens the files after the first of a split model and moves their tensors into f.
func (f *File) openSplits(path string) error {
	count, ok := f.Uint(keySplitCount)
	if !ok || count <= 1 {
		return nil
	}
	if no, ok := f.Uint(keySplitNo); !ok || no != 0 {
		return fmt.Errorf("gguf: open %s: it is part %d of %d of a split model: open the first part", path, no+1, count)
	}
	m := splitName.FindStringSubmatch(path)
	if m == nil || m[2] != "00001" || count > maxSplits {
		return fmt.Errorf("gguf: open %s: it is the first of %d parts, so its name must end in -00001-of-%05d.gguf", path, count, count)
	}
	if n, _ := strconv.ParseUint(m[3], 10, 64); n != count {
		return fmt.Errorf("gguf: open %s: its name tells of %d parts, its %s is %d", path, n, keySplitCount, count)
	}
	for i := uint64(1); i < count; i++ {
		if err := f.addSplit(fmt.Sprintf("%s-%05d-of-%05d.gguf", m[1], i+1, count), i); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) addSplit(path string, no uint64) error {
	part, err := openOne(path)
	if err != nil {
		return err
	}
	f.maps = append(f.maps, part.maps...) // so that closing f closes them, even after an error
	if n, ok := part.Uint(keySplitNo); !ok || n != no {
		return fmt.Errorf("gguf: open %s: its %s is %d, not %d: the parts are of different models", path, keySplitNo, n, no)
	}
	for _, t := range part.tensors {
		if _, dup := f.index[t.Name]; dup {
			return fmt.Errorf("gguf: open %s: tensor %q is in an earlier part too", path, t.Name)
		}
		f.index[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	f.size += part.size
	return nil
}

// regularSize returns the size of a regular file. It refuses pipes and devices, which would block
// or never end.
func regularSize(path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() {
		return 0, errors.New("it is not a regular file")
	}
	return st.Size(), nil
}
