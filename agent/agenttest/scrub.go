package agenttest

import (
	"regexp"
	"strings"
)

// secretShapes are patterns of credentials.
var secretShapes = []string{
	`(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}`,                            // OpenAI, Anthropic, OpenRouter
	`(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}`,                // Stripe
	`gh[pousr]_[A-Za-z0-9]{20,}`, `github_pat_[A-Za-z0-9_]{20,}`, // GitHub
	`glpat-[A-Za-z0-9_-]{16,}`,                     // GitLab
	`hf_[A-Za-z0-9]{20,}`,                          // Hugging Face
	`gsk_[A-Za-z0-9]{20,}`, `xai-[A-Za-z0-9]{20,}`, // Groq, xAI
	`A(?:KIA|SIA)[A-Z0-9]{16}`,                                   // AWS key ids
	`AIza[A-Za-z0-9_-]{30,}`,                                     // Google
	`xox[abprs]-[A-Za-z0-9-]{10,}`,                               // Slack
	`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+`, // JSON web tokens
	`(?i:bearer)\s+[A-Za-z0-9._~+/-]{12,}=*`,                     // HTTP credentials
	`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-[^-])*-----END [A-Z ]*PRIVATE KEY-----`,
}

// secrets matches them at the start of a word. A word may follow a JSON escape, whose letter is not
// part of the word.
var secrets = regexp.MustCompile(`(^|[^A-Za-z0-9\\]|\\[nrtbf/"\\])(?:` + strings.Join(secretShapes, "|") + `)`)

const scrubbed = "[secret removed]"

// scrubSecrets replaces everything that looks like a credential.
func scrubSecrets(s string) string {
	return secrets.ReplaceAllString(s, "${1}"+scrubbed)
}

// CassetteOption changes how a cassette is recorded or replayed.
type CassetteOption func(*cassetteOptions)

type cassetteOptions struct {
	scrubs []func(string) string
	paced  float64
	order  bool
}

// Scrub adds a function that removes secrets from every text before it is written or hashed. Pass
// the same function when replaying. Well-known forms of credentials are always removed.
func Scrub(f func(string) string) CassetteOption {
	return func(o *cassetteOptions) { o.scrubs = append(o.scrubs, f) }
}

// Paced makes a replay wait between pieces as the original did, speeded up by the factor speed: 2
// is twice as fast. Without it a replay does not wait.
func Paced(speed float64) CassetteOption { return func(o *cassetteOptions) { o.paced = speed } }

// InOrder makes a replay return the answers in the order in which they were recorded, whatever the
// requests. Without it an answer is found by its request.
func InOrder() CassetteOption { return func(o *cassetteOptions) { o.order = true } }

func newCassetteOptions(opts []CassetteOption) *cassetteOptions {
	o := &cassetteOptions{scrubs: []func(string) string{scrubSecrets}}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

func (o *cassetteOptions) scrub(s string) string {
	for _, f := range o.scrubs {
		s = f(s)
	}
	return s
}
