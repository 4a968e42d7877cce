package moe

import (
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// Load reads a model from a GGUF file and starts its engine. Close the model to release its memory.
//
// Memory is checked in advance: if weights, cache and scratch space do not fit the system's free
// memory, the error gives the numbers and nothing is loaded.
func Load(path string, cfg Config) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("moe: load %s: %w", path, err)
	}
	return load(path, f, cfg)
}

// LoadBytes is like [Load] for a GGUF file in memory, such as one that is embedded in the program.
// The parameter name replaces the path in errors. The data must not change while the model is open.
func LoadBytes(name string, data []byte, cfg Config) (*Model, error) {
	f, err := gguf.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("moe: load %s: %w", name, err)
	}
	return load(name, f, cfg)
}

// load makes a model from f, which is closed with the model.
func load(name string, f *gguf.File, cfg Config) (*Model, error) {
	m := &Model{closers: []func() error{f.Close}}
	if err := m.load(f, cfg); err != nil {
		_ = m.free() // the reported error is the one that made load fail
		return nil, fmt.Errorf("moe: load %s: %w", name, err)
	}
	return m, nil
}

func (m *Model) load(f *gguf.File, cfg Config) error {
	begin := time.Now()
	hyper, err := transformer.ReadHyper(f)
	if err != nil {
		return err
	}
	if err := cfg.check(hyper.Ctx); err != nil {
		return err
	}
	m.cfg = cfg
	if m.name = cfg.Name; m.name == "" {
		m.name = hyper.Name
	}
	m.embedding = readEmbedding(f, hyper.Arch)
	if err := m.readText(f, &hyper); err != nil {
		return err
	}
	if err := m.readWeights(f); err != nil {
		return err
	}
	cfg.Logger.Info("moe: model loaded", "name", m.name, "architecture", hyper.Arch, "format", m.format.Name, "context", m.engine.Context(),
		"weights_mib", m.net.Bytes()>>20, "seconds", time.Since(begin).Seconds())
	return nil
}

// readText reads the parts of the file that are needed to convert between text and tokens: the
// vocabulary, the chat template and the tool-call format.
func (m *Model) readText(f *gguf.File, h *transformer.Hyper) (err error) {
	if m.tok, err = tokenizer.FromGGUF(f); err != nil {
		return err
	}
	if m.tok.Size() > h.Vocab {
		return fmt.Errorf("the tokenizer has %d tokens, the network only %d; the file is damaged", m.tok.Size(), h.Vocab)
	}
	src := m.cfg.Template
	if src == "" {
		src, _ = f.String("tokenizer.chat_template")
	}
	if src == "" {
		src = chatML
	}
	if m.template, err = toolformat.NewTemplate(src, m.pieceOf(m.tok.BOS()), m.pieceOf(m.tok.EOS())); err != nil {
		return fmt.Errorf("its chat template: %w; give another one with Config.Template", err)
	}
	m.format = toolformat.Detect(src)
	if m.cfg.Format != "" {
		if m.format = toolformat.Lookup(m.cfg.Format); m.format == nil {
			return fmt.Errorf("Config.Format %q is unknown; see moe.Formats", m.cfg.Format)
		}
	}
	m.readMarks()
	m.vocab = m.newVocab()
	return nil
}

// chatML is the template for files that have none. It is the most common one.
const chatML = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

func (m *Model) pieceOf(id int32, ok bool) string {
	if !ok {
		return ""
	}
	return string(m.tok.AppendPiece(nil, id))
}

// readMarks collects the control tokens, and the texts that must not become control tokens if they
// occur in a message.
func (m *Model) readMarks() {
	m.controls = map[string]int32{}
	var texts []string
	for id := range int32(m.tok.Size()) {
		text := m.pieceOf(id, true)
		switch m.tok.Kind(id) {
		case tokenizer.Control:
			m.controls[text] = id
			texts = append(texts, text)
		case tokenizer.UserDefined:
			if n := len(text); n > 2 && (text[0] == '<' && text[n-1] == '>' || text[0] == '[' && text[n-1] == ']') {
				texts = append(texts, text) // a mark such as <tool_call>, not a run of spaces
			}
		}
	}
	m.guard = newGuard(texts)
}

// passTokens limits how many tokens one pass computes. A larger number would not use the weights
// better and would keep other requests waiting.
const passTokens = 512

// readWeights loads the network and starts the engine.
func (m *Model) readWeights(f *gguf.File) (err error) {
	kv, err := m.cfg.KV.tensor()
	if err != nil {
		return err
	}
	pages := transformer.PagesFor(m.cfg.KVTokens) + m.cfg.Slots
	m.pool = tensor.NewPool(m.cfg.Threads)
	m.closers = append(m.closers, func() error { m.pool.Close(); return nil })
	if m.net, err = m.network(f, pages, kv); err != nil {
		return err
	}
	spec := scheduler.SpecConfig{Off: m.cfg.NoSpeculation}
	if !m.cfg.NoSpeculation {
		if spec.Draft, err = m.draft(kv); err != nil {
			return err
		}
	}
	m.engine, err = scheduler.NewEngine(m.net, scheduler.EngineConfig{
		Cache: transformer.CacheConfig{Type: kv, Pages: pages}, Context: m.cfg.Context, Slots: m.cfg.Slots, Queue: m.cfg.Queue, PassTokens: passTokens, Speculation: spec})
	if err != nil {
		if spec.Draft != nil {
			spec.Draft.Close()
		}
		return err
	}
	m.closers = append(m.closers, func() error { m.engine.Close(); return nil })
	return nil
}

// network loads the weights of f if they and a cache of the given number of pages fit into memory.
func (m *Model) network(f *gguf.File, pages int, kv gguf.Type) (*transformer.Network, error) {
	need, err := transformer.EstimateMemory(f, transformer.MemoryConfig{Cache: transformer.CacheConfig{Type: kv, Pages: pages}, Batch: passTokens})
	if err != nil {
		return nil, err
	}
	if free, ok := transformer.AvailableMemory(); ok && need.Total() > free {
		const mib = 1 << 20
		return nil, fmt.Errorf("it needs %d MiB (weights %d, key-value cache %d, scratch %d) and %d MiB are free; use a smaller quantisation, lower Config.KVTokens or Config.Context, or set Config.KV to KVQ8_0",
			need.Total()/mib, need.Weights/mib, need.Cache/mib, need.Scratch/mib, free/mib)
	}
	net, err := transformer.LoadNetwork(f, m.pool, transformer.NetworkConfig{Capacity: m.cfg.ExpertCapacity})
	if err != nil {
		return nil, err
	}
	m.closers = append(m.closers, net.Close)
	return net, nil
}

// draft opens the draft model for m, or returns nil if there is none.
func (m *Model) draft(kv gguf.Type) (*scheduler.DraftModel, error) {
	var f *gguf.File
	var err error
	name := "Config.Draft " + m.cfg.Draft
	switch {
	case m.cfg.Draft != "":
		f, err = gguf.Open(m.cfg.Draft)
	case m.cfg.DraftData != nil:
		name = "Config.DraftData"
		f, err = gguf.Parse(m.cfg.DraftData)
	default:
		return nil, nil
	}
	var d *scheduler.DraftModel
	if err == nil {
		d, err = m.draftModel(f, kv)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// draftModel loads a small draft model for m. Its vocabulary must be the same, token by token.
func (m *Model) draftModel(f *gguf.File, kv gguf.Type) (*scheduler.DraftModel, error) {
	m.closers = append(m.closers, f.Close)
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		return nil, err
	}
	if tok.Size() != m.tok.Size() {
		return nil, fmt.Errorf("its vocabulary has %d tokens, this model's %d; a draft model must have the same vocabulary", tok.Size(), m.tok.Size())
	}
	for id := range int32(tok.Size()) {
		if ours, theirs := m.pieceOf(id, true), string(tok.AppendPiece(nil, id)); ours != theirs {
			return nil, fmt.Errorf("its token %d is %q, this model's is %q; a draft model must have the same vocabulary", id, theirs, ours)
		}
	}
	pages := transformer.PagesFor(m.cfg.KVTokens) + m.cfg.Slots
	net, err := m.network(f, pages, kv)
	if err != nil {
		return nil, err
	}
	return scheduler.NewDraftModel(m.net.Hyper(), net, scheduler.DraftConfig{Cache: transformer.CacheConfig{Type: kv, Pages: pages}, Context: m.cfg.Context})
}

// free releases everything in reverse order.
func (m *Model) free() error {
	var errs []error
	for i := len(m.closers) - 1; i >= 0; i-- {
		errs = append(errs, m.closers[i]())
	}
	m.closers = nil
	return errors.Join(errs...)
}
