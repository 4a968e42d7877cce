#include <x.h>
#define MAX 3
#define GUARD
#define SQ(x) \
  ((x)*(x))
static int add(int a, int b)
{
  return a + b;
}
struct point {
  int x;
};
typedef struct { int a; struct { int q; } in; } anon_t;
typedef struct node { struct node *next; } node_t;
typedef int (*callback)(void *, int);
typedef unsigned long ulong_t;
enum color { RED, GREEN };
struct point *make(int x) {
  if (x) { return 0; }
}
int main(void) {
  add(1, 2);
}
int knr(a, b)
  int a;
  char *b;
{
  return a;
}
static const struct point table[] = { { 1 }, { 2 } };
int counter = 3;
#ifdef _WIN32
int f(int a) {
#else
int f(long a) {
#endif
  return 1;
}
UV_EXTERN int uv_run(uv_loop_t* loop, uv_run_mode mode) {
}
TEST_IMPL(active) {
  uv_timer_t timer;
}
void (*signal(int sig, void (*func)(int)))(int) {
}
static void __attribute__((noreturn)) die(const char *s) { }
