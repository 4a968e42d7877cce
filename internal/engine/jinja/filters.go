package jinja

// filterTable holds the filters, which are applied with |. It is filled in init because map and
// similar filters look up filters in it.
var filterTable table

func init() {
	filterTable = newTable(map[string]builtin{
		"abs":            {fn: filterAbs},
		"attr":           {params: params("name"), fn: filterAttr},
		"batch":          {params: params("linecount fill_with="), fn: filterBatch},
		"capitalize":     {fn: onText(capitalize)},
		"center":         {params: params("width="), fn: filterCenter},
		"count":          {fn: filterLength},
		"d":              {params: params("default_value= boolean="), fn: filterDefault},
		"default":        {params: params("default_value= boolean="), fn: filterDefault},
		"dictsort":       {params: params("case_sensitive= by= reverse="), fn: filterDictsort},
		"e":              {fn: filterEscape},
		"escape":         {fn: filterEscape},
		"filesizeformat": {params: params("binary="), fn: filterFilesize},
		"first":          {fn: filterFirst},
		"float":          {params: params("default="), fn: filterFloat},
		"forceescape":    {fn: filterForceEscape},
		"from_json":      {fn: filterFromJSON},
		"fromjson":       {fn: filterFromJSON},
		"format":         {rest: true, kwargs: true, fn: filterFormat},
		"groupby":        {params: params("attribute default= case_sensitive="), fn: filterGroupby},
		"indent":         {params: params("width= first= blank="), fn: filterIndent},
		"int":            {params: params("default= base="), fn: filterInt},
		"items":          {fn: filterItems},
		"join":           {params: params("d= attribute="), fn: filterJoin},
		"last":           {fn: filterLast},
		"length":         {fn: filterLength},
		"list":           {fn: filterList},
		"lower":          {fn: onText(lower)},
		"map":            {rest: true, kwargs: true, fn: filterMap},
		"max":            extreme(opGt),
		"min":            extreme(opLt),
		"pprint":         {fn: filterPprint},
		"reject":         selector(false, false),
		"rejectattr":     selector(false, true),
		"replace":        {params: params("old new count="), fn: filterReplace},
		"reverse":        {fn: filterReverse},
		"round":          {params: params("precision= method="), fn: filterRound},
		"safe":           {fn: filterSafe},
		"select":         selector(true, false),
		"selectattr":     selector(true, true),
		"slice":          {params: params("slices fill_with="), fn: filterSlice},
		"sort":           {params: params("reverse= case_sensitive= attribute="), fn: filterSort},
		"string":         {fn: filterString},
		"striptags":      {fn: filterStriptags},
		"sum":            {params: params("attribute= start="), fn: filterSum},
		"title":          {fn: onText(titleWords)},
		"tojson":         {params: params("ensure_ascii= indent= separators= sort_keys="), fn: filterToJSON},
		"trim":           {params: params("chars="), fn: filterTrim},
		"truncate":       {params: params("length= killwords= end= leeway="), fn: filterTruncate},
		"unique":         {params: params("case_sensitive= attribute="), fn: filterUnique},
		"upper":          {fn: onText(upper)},
		"urlencode":      {fn: filterURLEncode},
		"wordcount":      {fn: filterWordcount},
		"wordwrap":       {params: params("width= break_long_words= wrapstring= break_on_hyphens="), fn: filterWordwrap},
		"xmlattr":        {params: params("autospace="), fn: filterXMLAttr},
	})
}

// onText makes a filter that maps the value's text; other values are first converted to text.
func onText(f func(string) string) func(*run, call) (Value, error) {
	return func(r *run, c call) (Value, error) {
		s, err := r.str(c.self)
		if err != nil {
			return nil, err
		}
		return like(c.self, f(s)), nil
	}
}

func filterDefault(_ *run, c call) (Value, error) {
	if isUndefined(c.self) || c.boolArg(1, false) && !truth(c.self) {
		return c.arg(0, Str("")), nil
	}
	return c.self, nil
}

func filterAttr(_ *run, c call) (Value, error) {
	if u, ok := c.self.(*undefined); ok {
		return nil, u.err()
	}
	name, err := c.strArg(0, "")
	if err != nil {
		return nil, err
	}
	if v := attribute(c.self, name); v != nil {
		return v, nil
	}
	return &undefined{obj: c.self, name: Str(name)}, nil
}

func filterString(r *run, c call) (Value, error) {
	if _, ok := text(c.self); ok {
		return c.self, nil
	}
	s, err := r.str(c.self)
	return Str(s), err
}

func filterSafe(r *run, c call) (Value, error) {
	s, err := r.str(c.self)
	return markup(s), err
}

func filterEscape(r *run, c call) (Value, error) {
	if _, ok := c.self.(markup); ok {
		return c.self, nil
	}
	return filterForceEscape(r, c)
}

func filterForceEscape(r *run, c call) (Value, error) {
	s, err := r.str(c.self)
	return markup(escapeHTML(s)), err
}
