package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime formats t as the C library does in the C locale, with glibc's flags - (no padding), _
// (spaces), 0 and ^ (upper case). An unknown directive stays as it is.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		start := i
		i++
		flag := byte(0)
		if strings.IndexByte("-_0^#", format[i]) >= 0 && i+1 < len(format) {
			flag = format[i]
			i++
		}
		s, ok := directive(t, format[i], flag)
		if !ok {
			b.WriteString(format[start : i+1])
			continue
		}
		if flag == '^' {
			s = strings.ToUpper(s)
		}
		b.WriteString(s)
	}
	return b.String()
}

// composed maps directives to the combinations of directives they stand for.
var composed = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y", 'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'R': "%H:%M", 'T': "%H:%M:%S", 'r': "%I:%M:%S %p",
	'x': "%m/%d/%y", 'X': "%H:%M:%S", 'n': "\n", 't': "\t", '%': "%",
}

func directive(t time.Time, c, flag byte) (string, bool) {
	if f, ok := composed[c]; ok {
		if c == '%' {
			return f, true
		}
		return strftime(t, f), true
	}
	switch c {
	case 'a':
		return t.Weekday().String()[:3], true
	case 'A':
		return t.Weekday().String(), true
	case 'b', 'h':
		return t.Month().String()[:3], true
	case 'B':
		return t.Month().String(), true
	case 'p':
		return strings.ToUpper(t.Format("pm")), true
	case 'P':
		return t.Format("pm"), true
	case 'z':
		return "", true // the clock has no time zone, like Python's datetime.now()
	case 'Z':
		return "", true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	}
	n, width, pad := number(t, c)
	if width == 0 {
		return "", false
	}
	switch flag {
	case '-':
		return strconv.Itoa(n), true
	case '_':
		pad = ' '
	case '0':
		pad = '0'
	}
	s := strconv.Itoa(n)
	return strings.Repeat(string(pad), max(0, width-len(s))) + s, true
}

// number returns the value of a numeric directive, its width and its padding; the width is 0 for an
// unknown directive.
func number(t time.Time, c byte) (n, width int, pad byte) {
	hour12 := (t.Hour()+11)%12 + 1
	switch c {
	case 'd':
		return t.Day(), 2, '0'
	case 'e':
		return t.Day(), 2, ' '
	case 'm':
		return int(t.Month()), 2, '0'
	case 'y':
		return t.Year() % 100, 2, '0'
	case 'Y':
		return t.Year(), 1, '0'
	case 'C':
		return t.Year() / 100, 2, '0'
	case 'H':
		return t.Hour(), 2, '0'
	case 'k':
		return t.Hour(), 2, ' '
	case 'I':
		return hour12, 2, '0'
	case 'l':
		return hour12, 2, ' '
	case 'M':
		return t.Minute(), 2, '0'
	case 'S':
		return t.Second(), 2, '0'
	case 'j':
		return t.YearDay(), 3, '0'
	case 'w':
		return int(t.Weekday()), 1, '0'
	case 'u':
		return (int(t.Weekday())+6)%7 + 1, 1, '0'
	}
	return week(t, c)
}

// week returns the number of the week in one of three numbering systems.
func week(t time.Time, c byte) (n, width int, pad byte) {
	year, iso := t.ISOWeek()
	switch c {
	case 'U':
		return (t.YearDay() + 6 - int(t.Weekday())) / 7, 2, '0'
	case 'W':
		return (t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7, 2, '0'
	case 'V':
		return iso, 2, '0'
	case 'G':
		return year, 1, '0'
	case 'g':
		return year % 100, 2, '0'
	}
	return 0, 0, 0
}
