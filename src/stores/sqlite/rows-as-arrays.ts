// Prepares statements that return each row as an array of its columns, which is cheaper than an object.
import type { DatabaseSync, StatementSync } from "node:sqlite";

export function rowsAsArrays(db: DatabaseSync): (sql: string) => StatementSync {
  return (sql) => {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
}
