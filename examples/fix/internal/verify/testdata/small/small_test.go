package small

import "testing"

func TestSum(t *testing.T) {
	if n, s := Sum("n", 1, 2, 3); n != 6 || s != "n6" {
		t.Errorf("Sum(1, 2, 3) = %d %q, want 6", n, s)
	}
}

func TestIndex(t *testing.T) {
	if i := Index([]string{"a", "b"}, "b"); i != 1 {
		t.Fatalf("Index = %d, want 1", i)
	}
	if i := Index([]int{1}, 2); i != -1 {
		t.Fatalf("Index = %d, want -1", i)
	}
}

func TestFactorial(t *testing.T) {
	t.Run("five", func(t *testing.T) {
		if n := Factorial(5); n != 120 {
			t.Errorf("Factorial(5) = %d, want 120", n)
		}
	})
}

func TestFactorialOne(t *testing.T) {
	if n := Factorial(1); n != 1 {
		t.Errorf("Factorial(1) = %d, want 1", n)
	}
}

func TestStack(t *testing.T) {
	var s Stack[int]
	s.Push(1)
	s.Push(2)
	if x, ok := s.Pop(); !ok || x != 2 {
		t.Errorf("Pop = %d %v, want 2", x, ok)
	}
}

func TestKind(t *testing.T) {
	if Kind(1).Name("", 0) != "kind" || !Kind(1).Same(0, 1) {
		t.Error("kind")
	}
}

func TestShout(t *testing.T) {
	w := []string{"a"}
	Shout(w)
	if w[0] != "A" {
		t.Errorf("Shout = %v", w)
	}
}

func TestSafe(t *testing.T) {
	if err := Safe(); err != nil {
		t.Error(err)
	}
}

func TestBroken(t *testing.T) { t.Error("fails whatever the package does") }

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		name        string
		n, by, want int
	}{{"backwards", 2, -3, 6}, {"for wards", 2, 3, 6}, {"too far", 50, 4, 100}, {"once", 7, 1, 7}} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Scale(tt.n, tt.by); got != tt.want {
				t.Errorf("Scale(%d, %d) = %d, want %d", tt.n, tt.by, got, tt.want)
			}
		})
	}
}

func TestScaleWhole(t *testing.T) {
	if Scale(5, -5) != 25 {
		t.Error("25")
	}
}
