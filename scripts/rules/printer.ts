/**
 * Prints the Lua of the rules. In JavaScript `a + b + c` joins `a` and `b` first, and typescript-to-lua keeps that order, so that Lua
 * creates a text for each step. Joined from the right, Lua creates only the result.
 */
import * as tstl from "typescript-to-lua"

const CONCAT = tstl.SyntaxKind.ConcatOperator

class RulePrinter extends tstl.LuaPrinter {
  override printBinaryExpression(
    expression: tstl.BinaryExpression,
  ): ReturnType<tstl.LuaPrinter["printBinaryExpression"]> {
    const { left, operator, right } = expression
    if (operator !== CONCAT || !tstl.isBinaryExpression(left) || left.operator !== CONCAT) {
      return super.printBinaryExpression(expression)
    }
    const end = tstl.createBinaryExpression(left.right, right, CONCAT)
    return this.printBinaryExpression(tstl.createBinaryExpression(left.left, end, CONCAT))
  }
}

/** A plugin of typescript-to-lua. */
export const rulePrinter: tstl.Plugin = {
  printer: (program, host, fileName, file) => new RulePrinter(host, program, fileName).print(file),
}
