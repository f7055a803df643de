/** Prints the Lua of the rules, one declaration at a time. */
import * as tstl from "typescript-to-lua"
import { readLuaLibFeature } from "typescript-to-lua/dist/LuaLib.js"

/** A declaration of the rules: a function or a constant. */
export interface Declaration {
  readonly name: string
  /** as a statement. What is lazy is named `lazy.…` in it */
  readonly statement: string
  /** as an expression, in which every declaration is named `lazy.…` */
  readonly lazy: string
  readonly isFunction: boolean
  /** the declarations that it uses */
  readonly uses: ReadonlySet<string>
}

const CONCAT = tstl.SyntaxKind.ConcatOperator

/** A command of the store is a function of its own: `s.db.hget(…)` is `hget(…)`. */
const isDb = (expression: tstl.Expression): boolean =>
  tstl.isIdentifier(expression)
    ? expression.text === "db"
    : tstl.isTableIndexExpression(expression) &&
      tstl.isStringLiteral(expression.index) &&
      expression.index.value === "db"

class RulePrinter extends tstl.LuaPrinter {
  /** the names of all declarations by their symbols; a function of the library of typescript-to-lua has none */
  readonly names = new Map<tstl.SymbolId, string>()
  isLazy: (name: string) => boolean = () => false
  used = new Set<string>()

  private printName(name: string): string {
    this.used.add(name)
    return this.isLazy(name) ? `lazy.${name}` : name
  }

  override printIdentifier(expression: tstl.Identifier): ReturnType<tstl.LuaPrinter["printIdentifier"]> {
    const { symbolId, text } = expression
    const name = symbolId === undefined ? undefined : this.names.get(symbolId)
    const isLibrary = symbolId === undefined && text.startsWith("__TS__")
    if (name === undefined && !isLibrary) return super.printIdentifier(expression)
    return this.createSourceNode(expression, this.printName(name ?? text))
  }

  override printMethodCallExpression(
    expression: tstl.MethodCallExpression,
  ): ReturnType<tstl.LuaPrinter["printMethodCallExpression"]> {
    const { name, params, prefixExpression } = expression
    if (!isDb(prefixExpression)) return super.printMethodCallExpression(expression)
    return this.createSourceNode(expression, [this.printName(name.text), "(", ...this.printExpressionList(params), ")"])
  }

  /**
   * In JavaScript `a + b + c` joins `a` and `b` first, and typescript-to-lua keeps that order, so that Lua creates a text for each step.
   * Joined from the right, Lua creates only the result.
   */
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

/** The declarations of a file, in order; `lazy` are those that are always lazy. */
const declarationsOf = (
  printer: RulePrinter,
  file: tstl.File,
  lazy: ReadonlySet<string>,
): ReadonlyArray<Declaration> => {
  const statements = file.statements.filter((statement) => !tstl.isReturnStatement(statement))
  const named = statements.flatMap((statement) => {
    const [left, second] = tstl.isVariableDeclarationStatement(statement) ? statement.left : []
    if (!tstl.isVariableDeclarationStatement(statement) || left === undefined || second !== undefined) {
      throw new Error(`not the declaration of one name: ${printer.printStatement(statement)}`)
    }
    if (left.text === "____exports") return []
    const [value] = statement.right ?? []
    if (left.symbolId === undefined || value === undefined)
      throw new Error(`${left.text} is used above its declaration`)
    printer.names.set(left.symbolId, left.text)
    return [{ name: left.text, statement, value }]
  })
  return named.map(({ name, statement, value }) => {
    printer.isLazy = (each) => lazy.has(each)
    const asStatement = printer.printStatement(statement).toString()
    const uses = new Set<string>()
    printer.used = uses
    printer.isLazy = () => true
    const asLazy = printer.printExpression(value).toString()
    printer.used = new Set()
    return { name, statement: asStatement, lazy: asLazy, isFunction: tstl.isFunctionExpression(value), uses }
  })
}

/** The functions of typescript-to-lua's own library that the rules use. */
const libraryOf = ({ luaLibFeatures }: tstl.File, host: tstl.EmitHost): ReadonlyArray<Declaration> =>
  [...luaLibFeatures].map((feature) => {
    const name = `__TS__${feature}`
    const statement = readLuaLibFeature(feature, tstl.LuaTarget.Lua51, host).trim()
    const start = `local function ${name}(`
    if (!statement.startsWith(start) || statement.indexOf("\nlocal ") >= 0)
      throw new Error(`${name} needs other parts of its library`)
    return { name, statement, lazy: `function(${statement.slice(start.length)}`, isFunction: true, uses: new Set() }
  })

/** A plugin of typescript-to-lua that prints a file as usual, and gives its declarations to `found`. */
export const rulePrinter = (
  lazy: ReadonlySet<string> = new Set(),
  found: (declarations: ReadonlyArray<Declaration>) => void = () => {},
): tstl.Plugin => ({
  printer: (program, host, fileName, file) => {
    found([...libraryOf(file, host), ...declarationsOf(new RulePrinter(host, program, fileName), file, lazy)])
    return new RulePrinter(host, program, fileName).print(file)
  },
})
