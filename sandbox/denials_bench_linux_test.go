package sandbox

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkEvidence measures the additional cost of a call that goes to the listener: opening a
// file for writing with Config.TraceWrites, and a connect always.
func BenchmarkEvidence(b *testing.B) {
	const calls = 2000
	for _, trace := range []bool{false, true} {
		sb := open(b, Config{Floor: TierNamespaces, ReadOnly: []string{self(b)}, TraceWrites: trace})
		for _, what := range []string{"open", "connect"} {
			b.Run(fmt.Sprintf("%s/trace=%v", what, trace), func(b *testing.B) {
				var total time.Duration
				for b.Loop() {
					exit := mustExec(b, sb, Cmd{Args: []string{self(b), what, strconv.Itoa(calls)}, Env: []string{helperEnv + "=many-calls"}})
					d, err := time.ParseDuration(strings.TrimSpace(exit.Stdout.String()))
					if err != nil || len(exit.Denials) > 0 {
						b.Fatal(err, exit.Denials)
					}
					total += d
				}
				b.ReportMetric(float64(total.Nanoseconds())/float64(b.N*calls), "ns/call")
			})
		}
	}
}

func init() {
	helpers["many-calls"] = func(a []string) error {
		n, err := strconv.Atoi(a[1])
		if err != nil {
			return err
		}
		begun := time.Now()
		for range n {
			if a[0] == "open" {
				f, err := os.OpenFile("many-calls", os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				f.Close()
				continue
			}
			c, err := net.Dial("udp", "127.0.0.1:9")
			if err != nil {
				return err
			}
			c.Close()
		}
		fmt.Println(time.Since(begun))
		return nil
	}
}
