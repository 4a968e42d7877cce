import { A } from './a';

/** Doc of server. */
@Component({ selector: 'x', inputs: { a: 1 } })
export class Server<T extends Base> extends B<{ x: 1 }> implements I {
  private x = 1;
  #secret = () => { return 2; };
  static handler = async (req: Request): Promise<void> => {
    go(req);
  };
  constructor(private a: number) { super(); }
  async listen(port: number): Promise<{ a: number }> {
    if (port) {
    }
    const inner = () => 3;
    function local() {}
  }
  get value(): string { return `a${`}`}b`; }
  static *[Symbol.iterator]() {}
  abstract run(): void;
}
export const handler = async (req: Request) => {
};
export const one = 1, two = 2;
const gen = <T,>(x: T): x is T => x;
let re = /[{]/g;
interface Opts {
  a: string;
  call(x: number): void;
  new (x: number): Opts;
}
export default function () { return 1 }
function helper(a: { b: number }): { c: number } {
  return { c: 1 };
}
export type Alias<T> = { a: T } | string;
type Fn = (a: number) => void
export enum Color { Red, Green }
declare module 'foo' {
  export function bar(): void;
}
namespace N.M { export const q = () => 1; }
export abstract class Abs {}
const obj = {
  method(a) { return a; },
  arrow: (x) => x,
  fn: function () { },
  nested: { deep() {} },
};
Foo.prototype.bar = function (x) {
  return x;
};
exports.baz = (x) => x
module.exports = { a() {} }
export default class extends X { m() {} }
function over(a: string): void;
function over(a: any) { }
if (x) { function cond() {} }
