package measure

// byPackage groups facts by package, in the order in which packages first appear.
func byPackage(facts []Fact) [][]Fact {
	var groups [][]Fact
	at := map[string]int{}
	for i, f := range facts {
		f.order = i
		n, ok := at[f.key()]
		if !ok {
			n = len(groups)
			at[f.key()] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], f)
	}
	return groups
}

// perBuild is the number of facts per package that make building it worthwhile.
const perBuild = 3

// Choose returns n of the facts from as many packages as possible, preferably three from each,
// starting with the first packages. If the list begins with packages that are built quickly, the
// measurement is quick. If n is 0, it returns all facts.
func Choose(facts []Fact, n int) []Fact {
	if n <= 0 || n >= len(facts) {
		return facts
	}
	groups := byPackage(facts)
	groups = groups[:min(len(groups), (n+perBuild-1)/perBuild)]
	taken := make([][]Fact, len(groups))
	total := 0
	for round, more := 0, true; total < n && more; round++ {
		more = false
		for i, g := range groups {
			if round < len(g) && total < n {
				taken[i] = append(taken[i], g[round])
				total++
				more = true
			}
		}
	}
	var out []Fact
	for _, g := range taken {
		out = append(out, g...)
	}
	return out
}
