package gitlog

import "math"

const (
	// maxCommits is the largest number that fits into a posting's bits.
	maxCommits = 1 << 24
	// maxKeptChanges limits the files kept of a commit; of larger commits only renamed and removed
	// files are kept.
	maxKeptChanges = 100
	maxPath        = 4096
)

// store holds commits by their hash. A store only grows, and nothing in it depends on the head for
// which a commit was read, so that one store serves all heads of a repository.
type store struct {
	hashLen int
	// shallow lists the commits at which the repository said its history was cut off. They were
	// read without their parents, so the store cannot be used if the list has changed.
	shallow string
	commits []entry
	paths   []string
	pathID  map[string]uint32 // built when something is added
	// parents are indices of commits, or ^i for the i-th missing one.
	parents []int32
	missing []missing
	lacking map[string]int32 // hash of a missing commit to its index

	words wordTable
}

// entry is a commit of a store.
type entry struct {
	id            string
	time          int64
	subject, body string
	// files is the number of files that the commit changed. The changes are kept as bytes because
	// the changes of most commits in a store are never needed.
	files              uint32
	changes            string
	parentAt, nParents uint32
}

func (e *entry) merge() bool { return e.nParents > 1 }

// missing is a parent that was not read.
type missing struct {
	id string
	// bound is the newest time that the parent can have. A walk from new to old does not need the
	// parent before it reaches that time.
	bound int64
	at    int32 // index of the commit once it was read, else -1
}

// never is the bound of a commit that cannot be read.
const never = math.MinInt64

func newStore(hashLen int, shallow string) *store {
	return &store{hashLen: hashLen, shallow: shallow, lacking: map[string]int32{}}
}

func (s *store) parentsOf(i int32) []int32 {
	e := &s.commits[i]
	return s.parents[e.parentAt : e.parentAt+e.nParents]
}

// find looks up a commit. It is called too rarely to justify a hash table.
func (s *store) find(id string) (int32, bool) {
	for i := range s.commits {
		if s.commits[i].id == id {
			return int32(i), true
		}
	}
	return 0, false
}

// tips returns up to n commits that are not a parent of any commit, the most recently read first.
func (s *store) tips(n int) []string {
	inner := make([]bool, len(s.commits))
	for _, p := range s.parents {
		if p < 0 {
			p = s.missing[^p].at
		}
		if p >= 0 {
			inner[p] = true
		}
	}
	var out []string
	for i := len(s.commits) - 1; i >= 0 && len(out) < n; i-- {
		if !inner[i] {
			out = append(out, s.commits[i].id)
		}
	}
	return out
}

// lack returns the reference to a parent that is not in the store.
func (s *store) lack(id string, bound int64) int32 {
	if i, ok := s.lacking[id]; ok {
		// An earlier reading already requested it without success. The lower bound, from the later
		// reading, is the right one.
		s.missing[i].bound = min(s.missing[i].bound, bound)
		return ^i
	}
	i := int32(len(s.missing))
	s.missing = append(s.missing, missing{id: id, bound: bound, at: -1})
	s.lacking[id] = i
	return ^i
}

// arrived redirects references to a formerly missing commit to the commit.
func (s *store) arrived(id string, at int32) {
	if i, ok := s.lacking[id]; ok {
		s.missing[i].at = at
		delete(s.lacking, id)
	}
}

func (s *store) path(p string) uint32 { return numberOf(&s.paths, &s.pathID, p) }

// numberOf returns the index of a text in a list, appending it if it is new. ids maps texts to
// their indexes; it is built if it is nil.
func numberOf(list *[]string, ids *map[string]uint32, text string) uint32 {
	if *ids == nil {
		*ids = make(map[string]uint32, len(*list))
		for i, t := range *list {
			(*ids)[t] = uint32(i)
		}
	}
	id, ok := (*ids)[text]
	if !ok {
		id = uint32(len(*list))
		*list = append(*list, text)
		(*ids)[text] = id
	}
	return id
}
