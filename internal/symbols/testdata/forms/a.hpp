#pragma once
namespace a::b {
template <typename T, class U = X<T>>
class EXPORT Foo final : public Bar<T>, private Baz {
 public:
  Foo(int x) : x_(x), y_{1} {}
  ~Foo() override = default;
  explicit operator bool() const { return true; }
  bool operator==(const Foo& o) const { return x_ == o.x_; }
  virtual void run(int a) = 0;
  static constexpr int N = 3;
  enum class Mode : int { A, B };
  struct Inner { int z; void f(); };
 private:
  int x_; std::vector<int> y_;
};
template <> void Foo<int>::run(int a) { }
int free_fn(const std::string& s = "x");
using Vec = std::vector<int>;
extern "C" {
int c_api(void);
}
inline auto lambda = [](int x) { return x; };
auto trailing(int x) -> decltype(x) { return x; }
}  // namespace
TEST(Suite, Case) { EXPECT_EQ(1, 2); }
const char* raw = R"x({ ")x";
