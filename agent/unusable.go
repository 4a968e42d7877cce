package agent

import (
	"strconv"
	"strings"
)

// unusable says why an answer without calls cannot be the end of the work.
type unusable struct {
	stop   StopReason
	detail string
	remind string // the prompt that tells the model
}

// judge returns why an answer cannot be the end of the work, or nil. Answers that were cut,
// withheld or paused have reasons of their own.
func (r *run) judge(resp *Response) *unusable {
	switch resp.Finish {
	case FinishMalformed:
		return &unusable{StopMalformed, "the model tried to call a tool, and the provider could not read the call", malformedAnswerPrompt}
	case FinishLength, FinishFilter, FinishRefusal, FinishPause:
		return nil
	}
	text := resp.Message.Text()
	switch {
	case blank(text) && thought(resp.Message.Parts):
		return &unusable{StopEmpty, "the model reasoned, but neither answered nor called a tool", emptyAnswerPrompt}
	case blank(text):
		return &unusable{StopEmpty, "the model neither answered nor called a tool", emptyAnswerPrompt}
	case writtenCall(text, &r.tools) && !r.fits(text):
		return &unusable{StopMalformed, "the model wrote a call as text instead of calling the tool", malformedAnswerPrompt}
	case resp.Finish != FinishStop && resp.Finish != FinishTools:
		return &unusable{StopUnfinished, "the answer ended for a reason that is unknown, so it may be incomplete", unfinishedAnswerPrompt}
	}
	return nil
}

// fits reports whether text is an answer of the form that Config.Output asks for.
func (r *run) fits(text string) bool {
	if r.agent.output == nil || r.mode.plan {
		return false
	}
	_, err := r.agent.output(text)
	return err == nil
}

// blank reports whether text has no visible character.
func blank(text string) bool {
	return strings.Trim(text, " \t\r\n\v\f\u00a0\u200b\u200c\u200d\u2060\ufeff\u3000") == ""
}

func thought(parts []Part) bool {
	for _, p := range parts {
		if _, ok := p.(Thinking); ok {
			return true
		}
	}
	return false
}

// askAgain handles an unusable answer: the first in a row is dropped and the request is sent again,
// later ones are followed by a reminder, and after Retry.Answers the run stops. It reports whether
// the loop continues.
func (r *run) askAgain(u *unusable, resp *Response) (bool, error) {
	r.unusable++
	if limit := r.agent.cfg.Retry.Answers; r.unusable > limit {
		if err := r.keepUnusable(resp); err != nil {
			return false, err
		}
		r.res.Message = &resp.Message
		r.stop(u.stop, u.detail+attempts(r.unusable))
		return false, nil
	}
	if r.unusable == 1 {
		if err := r.dropResponse(resp); err != nil {
			return false, err
		}
		r.stream.retract()
	} else {
		if err := r.keepUnusable(resp); err != nil {
			return false, err
		}
		r.reminders = append(r.reminders, promptText(u.remind))
	}
	r.out.send(AskedAgain{Attempt: r.unusable, Stop: u.stop, Detail: u.detail})
	return true, nil
}

// keepUnusable adds an unusable answer to the history if it has text. Providers refuse answers
// without any.
func (r *run) keepUnusable(resp *Response) error {
	if blank(resp.Message.Text()) {
		return r.dropResponse(resp)
	}
	return r.keepResponse(resp)
}

// dropResponse adds only the cost of a response to the run and the session.
func (r *run) dropResponse(resp *Response) error {
	dropped := *resp
	dropped.Message.Parts = nil
	return r.keepResponse(&dropped)
}

// attempts returns the end of a sentence that counts answers.
func attempts(n int) string {
	if n == 1 {
		return ""
	}
	return ", " + strconv.Itoa(n) + " times in a row"
}
