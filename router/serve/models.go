package serve

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/luthier-dev/luthier/agent"
)

// anyModel is the alias that stands for every name.
const anyModel = "*"

type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Context int    `json:"context_length,omitempty"`
}

func (s *Server) info(name string) modelInfo {
	caps, _ := agent.CapabilitiesOf(s.model)
	return modelInfo{ID: name, Object: "model", Created: s.born, OwnedBy: "luthier", Context: caps.MaxContext}
}

// serves reports whether clients may use a name.
func (s *Server) serves(name string) bool {
	return name == s.cfg.Name || slices.Contains(s.cfg.Aliases, name) || slices.Contains(s.cfg.Aliases, anyModel)
}

// noModel returns the error of a request for an unknown model.
func (s *Server) noModel(name string) *failure {
	if r := []rune(name); len(r) > 80 {
		name = string(r[:80]) + "…"
	}
	return &failure{status: http.StatusNotFound, kind: "invalid_request_error", code: "model_not_found", param: "model",
		message: "the model " + strconv.Quote(name) + " does not exist here; this server has " + strconv.Quote(s.cfg.Name)}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []modelInfo{s.info(s.cfg.Name)}
	for i, name := range s.cfg.Aliases {
		if name != anyModel && name != s.cfg.Name && !slices.Contains(s.cfg.Aliases[:i], name) {
			list = append(list, s.info(name))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !s.serves(id) {
		writeFailure(w, s.noModel(id))
		return
	}
	writeJSON(w, http.StatusOK, s.info(id))
}
