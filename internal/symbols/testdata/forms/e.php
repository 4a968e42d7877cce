<?php
namespace App\Http;
abstract class Controller extends Base implements I {
    const MAX = 3;
    private $x = "function no() {";
    public static function make(array $a = []): self { return new self(); }
    abstract protected function go();
}
interface I { public function m(); }
trait T { function t() {} }
enum Suit: string { case H = 'h'; public function f() {} }
function free(int &$x) { $f = function () {}; }
# a comment function no2() {}
