'use strict';
const express = require('express');
var app = module.exports = {};
app.use = function use(fn) {
  return this.x / 2 / fn("a'b");
};
exports.create = (a, { b }) => { };
function* gen() { yield 1; }
class A extends B {
  static #p = 1;
  constructor() { super(); this.a = { b() {} }; }
  async *each() {}
  set v(x) {}
  'quoted'() {}
}
const re = /[/{]\/'/g, after = 1;
const tpl = `a ${ { a: `}` }.a } {`;
let later = async function () {};
export { A };
export default function main() {}
const jsx = () => <div className="x">don't {a}</div>;
function last() {}
function templated() {
  const a = `x ${ f({ a: 1 }, `}`) } {`;
  return a;
}
