// Package small has a function of every shape that variants must be able to take the place of.
package small

import (
	"fmt"
	"os"
	"strings"
)

// Sum adds numbers up.
func Sum(label string, numbers ...int) (total int, text string) {
	for _, n := range numbers {
		total += n
	}
	return total, fmt.Sprint(label, total)
}

// Index is where x is in list, -1 if nowhere.
func Index[S ~[]E, E comparable](list S, x E) int {
	for i := range list {
		if list[i] == x {
			return i
		}
	}
	return -1
}

// Factorial calls itself.
func Factorial(n int) int {
	if n <= 1 {
		return 1
	}
	return n * Factorial(n-1)
}

// Stack is generic.
type Stack[T any] struct{ items []T }

// Push adds an item.
func (s *Stack[T]) Push(item T) { s.items = append(s.items, item) }

// Pop takes the last item.
func (s *Stack[T]) Pop() (item T, ok bool) {
	if len(s.items) == 0 {
		return item, false
	}
	item = s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return item, true
}

// Kind has methods whose receivers have no name.
type Kind int

func (Kind) Name(string, int) string {
	return "kind"
}

func (_ Kind) Same(_, b int) bool {
	return b > 0
}

// Shout has nothing to return.
func Shout(words []string) {
	for i, w := range words {
		words[i] = strings.ToUpper(w)
	}
}

// Safe recovers by itself: nothing can take its place.
func Safe() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("safe: %v", x)
		}
	}()
	return work()
}

func work() error {
	for i := 0; i < 3; i++ {
		if i > 5 {
			os.Exit(3)
		}
	}
	return nil
}

func unreached(n int) int {
	return n + 1
}

func Scale(n, by int) int {
	if by < 0 {
		by = -by
	}
	n *= by
	if n > 100 {
		n = 100
	}
	return n
}
