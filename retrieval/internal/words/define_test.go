package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDefinitions reads the forms of definition of each language: exactly the listed names must be
// found.
func TestDefinitions(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"go functions and methods", "a.go", `package a
func Open(name string) (*File, error) { return open(name) }
func (f *File) Close() error { return f.close() }
func (s Set[T]) Add(x T) { s[x] = struct{}{} }
func Map[T, U any](in []T, fn func(T) U) []U { return nil }
func (File) String() string { return "" }
`, "Open Close Add Map String"},
		{"go types", "a.go", `type File struct {
	name string
	fn   func(a, b int) error
}
type Reader interface { Read(p []byte) (int, error) }
type HandlerFunc func(w Writer, r *Request) error
type Alias = other.Type
type Set[K comparable] map[K]struct{}
`, "File Reader HandlerFunc Alias Set"},
		{"go groups", "a.go", `const (
	A = iota
	B // the second
	C, D = f(1), g(2)
)
var (
	ErrA = errors.New("a")
	table = map[string]int{"x": f(1)}
	hook = func() { run() }
	last int
)
type (
	One struct {
		f func(int) bool
	}
	Two interface { Do(); Undo() }
	Three int
)
`, "A B C ErrA table hook last One Two Three"},
		{"go variables", "a.go", `var x = func(a int) error { return nil }
const Big = 1 << 20
var _ Interface = (*T)(nil)
func f() { const local = 1; var alsoLocal int; type inner struct{} }
`, "x Big _ f inner"},

		{"python", "a.py", `X = 1
LIMIT: int = 2
X == 2
if X == 1:
    pass
class Cat(Animal, metaclass=Meta):
    """def docstring(): not here"""
    kind: ClassVar[str] = "cat"

    def __init__(self, name="class x"):
        self.name = name

        def helper():
            return 1

    @property
    @cached(ttl=3)
    def name(self): ...

    async def meow(self, loud: bool = False) -> None:
        await play()

    class Meta:
        def deep(self) -> None: ...
        def deeper(self):
            ...

def outer(
    a,
    b=lambda x: x,
):
    def inner(): pass
    return inner
async def main(): pass
other.attribute = 5
f(key=1)
`, "X LIMIT Cat __init__ helper name meow Meta deep deeper outer inner main"},

		{"javascript functions", "a.js", `function plain(a) { return a }
async function later() {}
function* gen() { yield 1 }
export default function shown() {}
const arrow = (a, b) => a + b;
const single = x => x * 2
const withDefault = (a = 5) => { return a }
const unpack = ({ a = 1, b }, c = {}) => { return a }
function options(a, { b = 2 } = {}) {}
test({ snapshot(x) { return x }, more: { deep() {} } });
const asyncArrow = async (a) => { await a }
let classic = function (x) { return x };
export const exported = async function () {};
`, "plain later gen shown arrow single withDefault unpack options snapshot deep asyncArrow classic exported"},
		{"javascript classes", "a.js", `class Queue extends Base {
  static size = 0;
  #secret = 1;
  constructor(x, opts = {}) { super(x); if (x) { run(x) } }
  push(item) { this.items.push(item); for (const i of item) { i() } }
  get length() { return 1 }
  async *walk() { yield 1 }
  #hidden() {}
  handler = (e) => { this.push(e) }
}
export class Other {}
`, "Queue constructor push length walk hidden handler Other"},
		{"javascript exports and prototypes", "a.js", `exports.parse = function (text) { return text };
module.exports = { a, b };
Foo.prototype.bar = function () {};
app.use = function use(fn) { return fn };
describe('thing', function () { it('works', () => { expect(1) }) });
const obj = {
  method() { return 1 },
  field: function () {},
};
`, "parse bar use obj method field"},
		{"javascript words that are no keywords here", "a.js", `const type = node.type
const props = { type: String, class: Foo, default: 0 }
x.class = y; interface.foo(bar);
`, "type props"},
		{"typescript", "a.ts", `export interface Shape { area(): number; name: string }
export type Pair<A, B> = [A, B];
export enum Color { Red, Green }
export const enum Flag { A = 1 }
declare module Foo { }
namespace Inner { export function run(a: number): void {} }
abstract class Box<T> extends Base<T> implements Shape {
  private readonly x: number = 1;
  @Input() label: string;
  constructor(private y: string) { super() }
  area(): number { return 1 }
  get<K extends keyof T>(k: K): T[K] { return this.x[k] }
}
export const typed: Handler<string> = async (req: Req): Promise<void> => { run() };
export const returns = (x: number): string => String(x);
export abstract class Base2 {}
`, "Shape area Pair Color Flag Foo Inner run Box constructor area get typed returns Base2"},

		{"rust", "a.rs", `pub struct Parser<'a> { src: &'a str, names: &'static str }
pub(crate) enum Token { Word(String), End }
pub trait Visit: Sized { fn visit(&self) -> bool; fn twice(&self) { self.visit(); } }
impl<'a> Parser<'a> {
    pub const LIMIT: usize = 10;
    pub fn new(src: &'a str) -> Self { let x = 1; Parser { src, names: "" } }
    pub async unsafe fn next<T: 'static>(&mut self) -> Option<T> { match x { _ => None } }
}
impl<T> fmt::Display for Wrapper<T> where T: fmt::Display {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { Ok(()) }
}
unsafe impl<'static> Send for Token {}
macro_rules! vec_of { ($x:expr) => { vec![$x] }; }
static mut COUNTER: u32 = 0;
type Result<T> = std::result::Result<T, Error>;
pub mod inner { pub fn deep() {} }
pub const fn fixed(x: impl Fn(u8) -> u8) -> impl Iterator<Item = u8> { let y = x(1); }
union Bits { a: u32, b: f32 }
extern "C" fn callback(f: fn(i32) -> i32) {}
`, "Parser Token Visit visit twice Parser LIMIT new next Wrapper fmt Token vec_of COUNTER Result inner deep fixed Bits callback"},

		{"java", "A.java", `package org.example;
import java.util.*;
/** class Comment { } */
@Deprecated(since = "1")
public final class Server<T extends Foo> extends Base implements Runnable {
    private static final int LIMIT = compute(3);
    private final Map<String, List<T>> table = new HashMap<>();
    static { init(); }
    public Server(int port) throws IOException { this.port = port; }
    @Override public void run() { while (true) { accept(); } }
    public <R> R map(Function<? super T, R> fn) { return fn.apply(null); }
    abstract void nothing();
    enum State { OPEN, CLOSED { void f() {} }; boolean isOpen() { return this == OPEN; } }
    interface Callback { void done(Object o); default void twice() { done(null); } }
    record Point(int x, int y) { Point { check(x); } }
    @interface Marker {}
    Object anonymous = new Object() { public String toString() { return ""; } };
    Class<?> c = Server.class;
}
`, "Server Server run map nothing State isOpen Callback done twice Point Marker"},
		{"kotlin", "a.kt", `package a
data class User(val name: String, var age: Int)
sealed interface Shape
object Registry { val items = mutableListOf<String>()
  fun add(x: String) { items.add(x) } }
class Box<T>(val value: T) : Base() {
  companion object { const val LIMIT = 10
    fun of() = Box(1) }
  override suspend fun load(id: Int): T { return value }
  val size: Int get() = 1
}
fun String.shout() = uppercase()
fun <T> List<T>.second(): T = this[1]
enum class Color { RED }
fun interface Action { fun run() }
`, "User Shape Registry items add Box LIMIT of load size shout second Color Action run"},
		{"c sharp", "a.cs", `using System;
namespace App.Models;
[Serializable]
public class User : Base, IThing {
    public int Id { get; set; }
    public string Name => first + last;
    private readonly List<string> items = new();
    public User(int id) : base(id) { Id = id; }
    public async Task<int> LoadAsync<T>(string path = @"C:\dir\") where T : class { return 1; }
    public int Twice(int x) => x * 2;
    public struct Inner { public int X; }
    public enum Kind { A, B }
}
public interface IThing { void Do(); }
public record Point(int X, int Y);
`, "Models User Id Name User LoadAsync Twice Inner Kind IThing Do Point"},

		{"c", "a.c", `#include <stdio.h>
#define LIMIT 10
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define BEGIN {
#define LOOP(x) \
	for (;;) { \
		run(x);
struct point { int x, y; };
typedef struct node { struct node *next; } node_t;
typedef struct { int a; } pair_t;
typedef int (*callback)(int, void *);
typedef unsigned long word;
enum color { RED, GREEN };
union bits { int i; float f; };
static int helper(int a);
static struct ops table = { .read = do_read, .write = do_write };
int (*handler)(int) = NULL;
static int helper(int a)
{
	struct point p = { 1, 2 };
	if (a) { return 1; }
	return use((struct point){ 1, 2 });
}
struct point *make(struct ops *o) { return 0; }
int old(a, b)
	int a;
	char *b;
{
	return a;
}
struct late { int z; };
#ifdef A
int with_a(void) {
#else
int without_a(void) {
#endif
	return 1;
}
int after(void) {
#define INSIDE 1
	return 2;
}
TEST_IMPL(real_name) {
	return 0;
}
`, "LIMIT MAX BEGIN LOOP point node node_t pair_t callback word color bits helper make old late with_a without_a after INSIDE real_name"},
		{"c++", "a.cpp", `namespace app {
namespace {
int hidden(int x) { return x; }
}
template <class T> class Stack : public Base<T> {
public:
  explicit Stack(int n) : size_(n), data_(new T[n]) { clear(); }
  ~Stack() { free(); }
  void push(const T &x) { data_[0] = x; }
  bool empty() const noexcept override { return true; }
  int declared(int x);
private:
  int size_ = 0;
};
class LIB_EXPORT Visible final : public Stack<int> { int f() { return 1; } };
enum class Color : int { Red };
template <typename T> T biggest(T a, T b) { return a; }
void Stack::resize(int n) { for (int i = 0; i < n; i++) { grow(); } }
Thing::Thing(int a) : x(a), y{a} { run(); }
extern "C" {
int exported(void) { return 1; }
}
using Alias = std::vector<int>;
}
`, "app hidden Stack Stack Stack push empty Visible f Color biggest resize Thing exported"},

		{"ruby", "a.rb", `module Outer
  class Inner::Deep < Base
    attr_reader :name
    def initialize(name) = @name = name
    def self.build(x)
      if x.class == String
        link class: "button"
      end
    end
    def empty?; true; end
    def save!
    end
    class << self
      def hidden; end
    end
  end
end
`, "Outer Deep initialize build empty save hidden"},
		{"php", "a.php", `<?php
namespace App\Models;
use App\Contracts\Thing;
#[Attribute]
abstract class User extends Model implements Thing {
    const LIMIT = 10;
    private $name = 'class x';
    public function __construct(private string $n) { parent::__construct(); }
    public static function &find(int $id): ?self { return static::query(User::class, $id); }
    abstract protected function later();
}
interface Thing2 {}
trait Helps { function help() { return fn($x) => $x; } }
enum Suit: string { case Hearts = 'H'; }
function top() { $f = function ($x) use ($y) { return $x; }; }
`, "Models User LIMIT __construct find later Thing2 Helps help Suit top"},
		{"shell", "a.sh", `#!/bin/sh
NAME=value
build() { make "$1"; }
function deploy { echo "function fake() {"; }
function both() {
  local x=${1:-none}
  for i in $#; do run; done
}
run_it ()
{
  case $1 in
    a) echo a ;;
  esac
}
`, "build deploy both run_it"},
		{"sql", "a.sql", `-- create table fake (a int);
CREATE TABLE users (id INT PRIMARY KEY, name TEXT DEFAULT 'table x');
create table if not exists app.orders (id int);
CREATE OR REPLACE FUNCTION total(a int) RETURNS int AS $$ SELECT 1 $$;
CREATE UNIQUE INDEX by_name ON users (name);
CREATE VIEW active AS SELECT * FROM users;
CREATE PROCEDURE cleanup() BEGIN END;
ALTER TABLE users ADD COLUMN age INT;
DROP TABLE users;
`, "users orders total by_name active cleanup"},
		{"proto", "a.proto", `syntax = "proto3";
package shop.v1;
message Order { string type = 1; enum State { OPEN = 0; } message Line { int32 n = 1; } }
service Shop { rpc Buy(Order) returns (Receipt); rpc Stream(stream Order) returns (stream Receipt) {} }
enum Top { A = 0; }
`, "Order State Line Shop Buy Stream Top"},
		{"lua", "a.lua", `local function helper(x) return x end
function M.parse(text) end
function M:method() end
M.assigned = function() end
`, "helper parse method assigned"},
		{"swift", "a.swift", `public struct Point: Hashable { var x: Int; let y = 1
  init(x: Int) { self.x = x }
  func moved(by d: Int) -> Point { return self }
  static func zero() -> Point { Point(x: 0) } }
extension Point: Codable { class func make() { run { inner() } } }
protocol Shape { func area() -> Int }
enum Kind { case a, b }
`, "Point x y init moved zero Point make Shape area Kind"},
		{"elixir", "a.ex", `defmodule App.Users do
  @doc "def fake"
  def find(%{id: id}), do: get(id)
  defp hidden(x), do: x
  defmacro check(x) do
  end
end
`, "Users find hidden check"},
		{"markdown", "a.md", "# Install\n\ntext about func parse\n\n## Use it\n\n```sh\n# no heading\n```\n\n### Last ###\n#hashtag\n", "Install Use it Last"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := read(t, c.file, c.src)
			if d := cmp.Diff(strings.Fields(c.want), definitions(text, c.src)); d != "" {
				t.Errorf("definitions (-want +got):\n%s", d)
			}
			// Windows line endings make no difference.
			win := strings.ReplaceAll(c.src, "\n", "\r\n")
			if d := cmp.Diff(definitions(text, c.src), definitions(read(t, c.file, win), win)); d != "" {
				t.Errorf("with CRLF (-LF +CRLF):\n%s", d)
			}
		})
	}
}
