package gitlog

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxBody is the length to which the body of a message is cut.
	maxBody    = 2 << 10
	maxSubject = 512
)

// cleanMessage returns the subject and body of a message without the parts that are unrelated to
// the files: trailers, and generated subjects of merges. For a merged pull request, its title
// becomes the subject.
func cleanMessage(message string) (subject, body string) {
	message = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(message, "\r\n", "\n"), "\uFFFD"))
	subject, body, _ = strings.Cut(message, "\n")
	body = cleanBody(body)
	if number, ok := mergeSubject(subject); ok {
		subject, body, _ = strings.Cut(body, "\n")
		if subject = strings.TrimSpace(subject); subject != "" && number != "" {
			subject += " (" + number + ")"
		}
		body = strings.TrimSpace(body)
	}
	return cutText(strings.TrimSpace(subject), maxSubject), cutText(body, maxBody)
}

// mergeSubject reports whether git or a forge generated the subject, and returns the number of the
// pull request in it.
func mergeSubject(s string) (number string, ok bool) {
	for _, p := range []string{"Merge pull request ", "Merge PR "} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			number, _, _ = strings.Cut(rest, " ")
			number = strings.TrimSuffix(number, ":")
			if !strings.HasPrefix(number, "#") {
				number = ""
			}
			return number, true
		}
	}
	for _, p := range []string{"Merge branch ", "Merge branches ", "Merge remote-tracking branch", "Merge remote branch ",
		"Merge tag ", "Merge commit ", "Merge upstream ", "Merge remote "} {
		if strings.HasPrefix(s, p) {
			return "", true
		}
	}
	return "", false
}

// cleanBody drops trailers anywhere in the body, and blank lines.
func cleanBody(body string) string {
	if body == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if ok && trailers[strings.ToLower(key)] {
			if !numbered[strings.ToLower(key)] {
				continue
			}
			if line = pullNumber(strings.TrimSpace(value)); line == "" {
				continue
			}
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
		if b.Len() > maxBody {
			break
		}
	}
	return b.String()
}

// pullNumber returns "#12" for "#12" and for ".../pull/12".
func pullNumber(s string) string {
	digits := s[strings.LastIndexAny(s, "/#")+1:]
	if digits == "" || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return "#" + digits
}

// trailers are the trailers that name people and machines.
var trailers = map[string]bool{"signed-off-by": true, "co-authored-by": true, "co-developed-by": true, "reviewed-by": true,
	"reviewed-on": true, "tested-by": true, "acked-by": true, "cc": true, "reported-by": true, "suggested-by": true,
	"change-id": true, "pr-url": true, "git-svn-id": true, "approved-by": true, "differential revision": true,
	"auto-submit": true, "commit-queue": true, "run-trybot": true, "trybot-result": true, "reviewed-from": true,
	"backport-pr-url": true, "piperorigin-revid": true, "helped-by": true, "mentored-by": true, "landed-by": true,
	"luci-trybot-result": true, "tryBot-bypass": true, "author": true, "date": true}

// numbered are the trailers with the number of a change, which a query may mention.
var numbered = map[string]bool{"pr-url": true, "backport-pr-url": true}

// cutText cuts s to at most n bytes, between characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Numbers returns the numbers of issues and pull requests that the message mentions: #12.
func (c *Commit) Numbers() []int {
	var out []int
	for _, text := range []string{c.Subject, c.Body} {
		for i := strings.IndexByte(text, '#'); i >= 0; {
			n, digits := 0, 0
			for i++; i < len(text) && text[i] >= '0' && text[i] <= '9' && digits < 9; i++ {
				n, digits = n*10+int(text[i]-'0'), digits+1
			}
			if digits > 0 {
				out = append(out, n)
			}
			next := strings.IndexByte(text[i:], '#')
			if next < 0 {
				break
			}
			i += next
		}
	}
	return out
}
