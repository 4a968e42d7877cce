package wire

import (
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// finishWords maps the words of servers for why an answer ended, in lower case without '_' and '-'.
var finishWords = map[string]agent.FinishReason{
	"stop": agent.FinishStop, "eos": agent.FinishStop, "eostoken": agent.FinishStop, "endturn": agent.FinishStop, "stopsequence": agent.FinishStop,
	"stopstring": agent.FinishStop, "stoptoken": agent.FinishStop, "stopped": agent.FinishStop, "complete": agent.FinishStop, "completed": agent.FinishStop,
	"done": agent.FinishStop, "end": agent.FinishStop, "finish": agent.FinishStop, "finished": agent.FinishStop, "success": agent.FinishStop, "normal": agent.FinishStop,
	"toolcalls": agent.FinishTools, "toolcall": agent.FinishTools, "tooluse": agent.FinishTools, "functioncall": agent.FinishTools, "functioncalls": agent.FinishTools,
	"length": agent.FinishLength, "maxtokens": agent.FinishLength, "maxlength": agent.FinishLength, "modellength": agent.FinishLength, "maxoutputtokens": agent.FinishLength,
	"maxcompletiontokens": agent.FinishLength, "modelcontextwindowexceeded": agent.FinishLength, "contextlengthexceeded": agent.FinishLength, "tokenlimit": agent.FinishLength,
	"contentfilter": agent.FinishFilter, "contentfiltered": agent.FinishFilter, "safety": agent.FinishFilter, "recitation": agent.FinishFilter, "sensitive": agent.FinishFilter,
	"blocklist": agent.FinishFilter, "prohibitedcontent": agent.FinishFilter, "spii": agent.FinishFilter, "imagesafety": agent.FinishFilter, "language": agent.FinishFilter,
	"guardrailintervened": agent.FinishFilter, "blocked": agent.FinishFilter, "moderation": agent.FinishFilter,
	"refusal": agent.FinishRefusal, "refused": agent.FinishRefusal,
	"pause": agent.FinishPause, "pauseturn": agent.FinishPause,
	"unexpectedtoolcall": agent.FinishMalformed, "invalidtoolcall": agent.FinishMalformed, "invalidfunctioncall": agent.FinishMalformed, "toolcallerror": agent.FinishMalformed, "toomanytoolcalls": agent.FinishMalformed,
}

// failedWords maps the words that say that the answer failed.
var failedWords = map[string]agent.ErrorKind{
	"insufficientsystemresource": agent.ErrOverloaded, "overloaded": agent.ErrOverloaded,
	"networkerror": agent.ErrNetwork, "network": agent.ErrNetwork, "connectionerror": agent.ErrNetwork,
	"timeout": agent.ErrTimeout, "timedout": agent.ErrTimeout,
	"error": agent.ErrIncomplete, "abort": agent.ErrIncomplete, "aborted": agent.ErrIncomplete, "unknown": agent.ErrIncomplete, "failed": agent.ErrIncomplete,
	"failure": agent.ErrIncomplete, "cancelled": agent.ErrIncomplete, "canceled": agent.ErrIncomplete, "interrupted": agent.ErrIncomplete, "incomplete": agent.ErrIncomplete,
	"internalerror": agent.ErrServer, "servererror": agent.ErrServer, "modelerror": agent.ErrServer,
}

// Finish maps the word of a server for why an answer ended. If the word means that the answer
// failed, Finish returns the kind of the error instead of a reason. An unknown word is
// [agent.FinishOther].
func Finish(word string) (agent.FinishReason, agent.ErrorKind) {
	key := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
	key = strings.TrimPrefix(key, "finishreason") // Google's clients: FinishReasonStop
	if r, ok := finishWords[key]; ok {
		return r, ""
	}
	if k, ok := failedWords[key]; ok {
		return "", k
	}
	if strings.Contains(key, "malformed") { // such as function_call_filter: MALFORMED_FUNCTION_CALL
		return agent.FinishMalformed, ""
	}
	return agent.FinishOther, ""
}
