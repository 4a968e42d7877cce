package a
/** Doc */
@Serializable
data class User<T>(val name: String, val f: (Int) -> Unit = { }) : Base(), I {
    val size: Int get() = 1
    companion object {
        const val MAX = 3
    }
    init { println("x") }
    constructor(x: Int) : this("a")
    override suspend fun <T> run(a: Int): List<T> = listOf()
    private fun hidden() {
        val local = 1
        fun inner() {}
    }
    enum class Kind { A, B; fun f() {} }
}
sealed interface Shape { fun area(): Double }
object Single { fun go() {} }
fun String.shout(): String { return uppercase() }
fun `a test name`() {}
typealias Id = String
val top = 3
