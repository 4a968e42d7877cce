package a.b;
import java.util.*;
/** Doc. */
@Entity(name = "x")
public class A<T extends Comparable<T>> extends B<T> implements C {
  private int x = foo(1);
  private static final Map<String, List<A>> M = new HashMap<>() {{ put("a", null); }};
  static { init(); }
  public A(int x) { this.x = x; }
  @Override
  @SuppressWarnings({"a", "b"})
  public static <K, V> Map<K, V> main(String[] args) throws IOException {
    foo(1);
    Runnable r = new Runnable() { public void run() {} };
    return;
  }
  abstract void go(int a);
  enum Kind { ONE(1) { void f() {} }, TWO(2); Kind(int x) {} int get() { return 1; } }
  interface Inner { void call(); default int d() { return 1; } }
  record Point(int x, int y) { Point { } double len() { return 0; } }
  @interface Ann { String value() default "x"; }
  char c = '{';
}
