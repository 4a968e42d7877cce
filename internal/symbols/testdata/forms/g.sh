#!/bin/bash
a() {
  echo "b() {"
}
function my-fn {
  cat <<EOF
c() {
EOF
}
d:e() { :; }
