package a
case class User(name: String) extends Base {
  def run[T](a: Int)(implicit b: B): Unit = {
    def inner() = 1
  }
  val x = 1
}
object Main extends App { def go(): Int = 3 }
sealed trait Shape { def area: Double }
type Id = String
