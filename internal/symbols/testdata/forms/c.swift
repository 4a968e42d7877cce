import Foundation
public struct Point<T>: Shape where T: Numeric {
    let x: Int
    var y: Int { return 1 }
    static func make() -> Point { Point() }
    mutating func move(by d: Int) throws {
        func inner() {}
    }
    init?(x: Int) { }
}
extension Point: Codable { func enc() {} }
protocol Shape { func area() -> Double
    var name: String { get } }
final class C { deinit { } class func k() {} }
enum E: String { case a, b; func f() {} }
actor A { nonisolated func g() {} }
func free<T>(_ a: T) -> [T] { [] }
private let secret = 1
