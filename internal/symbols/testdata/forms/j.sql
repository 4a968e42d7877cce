-- create table no (a int);
CREATE TABLE IF NOT EXISTS app.users (
  id int
);
create or replace function f(a int) returns int as $$ select 1; $$ language sql;
CREATE UNIQUE INDEX "by_name" ON users (name);
