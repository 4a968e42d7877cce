package jinja_test

import (
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/jinja"
)

func Example() {
	t, err := jinja.Parse("{% for m in messages %}\n<|{{ m.role }}|>{{ m.content | trim }}\n{% endfor %}\n{{ tools | tojson }}")
	if err != nil {
		fmt.Println(err)
		return
	}
	vars, err := jinja.FromJSON([]byte(`{"messages": [{"role": "user", "content": " hi "}], "tools": [{"name": "read", "args": {"path": null}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := t.Render(vars.(*jinja.Dict), jinja.Options{})
	fmt.Println(text, err)
	// Output:
	// <|user|>hi
	// [{"name": "read", "args": {"path": null}}] <nil>
}

func ExampleRenderError() {
	t, _ := jinja.Parse("{% if messages[0].role == 'system' %}\n{{ raise_exception('no system role here') }}\n{% endif %}")
	vars, _ := jinja.FromJSON([]byte(`{"messages": [{"role": "system"}]}`))
	_, err := t.Render(vars.(*jinja.Dict), jinja.Options{})
	var re *jinja.RenderError
	fmt.Println(errors.As(err, &re), re.Line, re.Message)
	// Output: true 2 no system role here
}
