//! crate
#[derive(Debug, Clone)]
pub struct Conn<'a> { x: &'a str, c: char }
pub struct Unit;
struct Tuple(u8, u8);
/// Docs
/// more
#[inline]
pub(crate) async fn open<'a, T: Into<String>>(x: &'a T) -> Result<(), Box<dyn Error>> where T: Sized {
    let c = '{'; let s = r#"}"#;
    fn inner() {}
    const LOCAL: u8 = 1;
    Foo::<u8>::new(); vec![1]; println!("{}", x);
}
impl<'a> Conn<'a> {
    pub const MAX: usize = 3;
    pub fn new() -> Self { Self { x: "", c: 'a' } }
    unsafe extern "C" fn raw() {}
}
impl<T> fmt::Display for Wrapper<T> where T: fmt::Display {
    type Output = u8;
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{") }
}
pub trait Shape: Sized {
    const N: usize;
    fn area(&self) -> f64;
    fn name(&self) -> String { "x".into() }
}
pub enum E { A, B { x: u8 }, C(u8) }
mod tests { #[test] fn works() {} }
mod other;
macro_rules! my_vec { ($x:expr) => { fn $x() {} }; }
pub static mut GLOBAL: u8 = 1;
pub type Alias<T> = Vec<T>;
pub const fn cf() {}
const ARR: [u8; 2] = [1, 2];
union U { a: u8 }
cfg_rt! {
    pub mod runtime { pub fn spawn() {} }
}
extern "C" { fn ext(x: u8); }
impl Trait for [u8; 4] {}
impl Trait for (A, B) {}
/* outer /* inner */ fn commented() {} */
fn after_comment() {}
