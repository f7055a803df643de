/** Finds the rules that `src` declares with `ruleOf`, by parsing; nothing is run. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import ts from "typescript"

export const root = dirname(dirname(import.meta.dirname))
/** What all rules share: how they are run in memory and on Redis, and the compiled text. */
export const runner = join(root, "src/store/rules")
/** Whether a file holds rules: those of a concern are in its folder `rules`. */
export const holdsRules = (file: string): boolean => relative(join(root, "src"), file).split(sep).includes("rules")
export const WORD = /[A-Za-z_]\w*/g

export const parsed = (file: string): ts.SourceFile =>
  ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.ESNext, true)

/** A rule as it is declared for the store. */
export interface Declared {
  readonly name: string
  /** the expression that runs it, such as `runQueue(leave)` */
  readonly expression: string
  /** the rule files that the expression needs */
  readonly files: ReadonlyArray<string>
  /** `Rule.texts` */
  readonly texts: ReadonlyArray<string>
  /** `Rule.expires` */
  readonly expires: boolean
}

/** The list `texts` in the options of a rule. */
export const textsOf = (options: ts.Expression | undefined): ReadonlyArray<string> => {
  if (options === undefined) return ["data"]
  if (!ts.isObjectLiteralExpression(options) || options.properties.some(ts.isSpreadAssignment)) {
    throw new Error(`${options.getText()} must be an object with each option in it`)
  }
  const texts = options.properties.find((property) => property.name?.getText() === "texts")
  if (texts === undefined) return ["data"]
  if (!ts.isPropertyAssignment(texts) || !ts.isArrayLiteralExpression(texts.initializer)) {
    throw new Error(`${texts.getText()} must be a list of string literals`)
  }
  return texts.initializer.elements.map((each) => {
    if (ts.isStringLiteral(each)) return each.text
    throw new Error(`${texts.getText()} must be a list of string literals`)
  })
}

/** The option `expires` of a rule, after `textsOf` has checked the options. */
export const expiresOf = (options: ts.Expression | undefined): boolean => {
  if (options === undefined || !ts.isObjectLiteralExpression(options)) return false
  const expires = options.properties.find((property) => property.name?.getText() === "expires")
  if (expires === undefined) return false
  if (ts.isPropertyAssignment(expires) && expires.initializer.kind === ts.SyntaxKind.TrueKeyword) return true
  throw new Error(`${expires.getText()} must be true, or absent`)
}

/** The file from which each name is imported that `source` takes from the folders of rules. */
const importedRules = (source: ts.SourceFile): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    const names = statement.importClause?.namedBindings
    const file = resolve(dirname(source.fileName), statement.moduleSpecifier.text)
    if (!holdsRules(file) || names === undefined || !ts.isNamedImports(names)) continue
    // all rules are compiled as one file, so only the names under which they are exported exist there
    for (const { name, propertyName } of names.elements) if (propertyName === undefined) files.set(name.text, file)
  }
  return files
}

/** The rules that a file declares by calls of `ruleOf`. */
const declaredIn = (file: string): ReadonlyArray<Declared> => {
  const source = parsed(file)
  const files = importedRules(source)
  const found: Array<Declared> = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "ruleOf") {
      const [name, run, , options] = node.arguments
      const expression = run?.getText(source) ?? ""
      if (name === undefined || !ts.isStringLiteral(name)) {
        throw new Error(`${relative(root, file)}: the name in ruleOf(…, ${expression}) must be a string literal`)
      }
      const names = expression.match(WORD) ?? []
      const unknown = names.filter((each) => !files.has(each))
      if (unknown.length > 0) {
        throw new Error(
          `${relative(root, file)}: ${name.text}: import ${unknown.join(", ")} from a folder of rules, without \`as\``,
        )
      }
      found.push({
        name: name.text,
        expression,
        files: names.map((each) => files.get(each) ?? ""),
        texts: textsOf(options),
        expires: expiresOf(options),
      })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** All rules, sorted by name. */
export const declaredRules = (): ReadonlyArray<Declared> => {
  const src = join(root, "src")
  const found = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && file !== "store/rule.ts")
    .map((file) => join(src, file))
    .filter((file) => readFileSync(file, "utf8").includes("ruleOf("))
    .flatMap(declaredIn)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  found.forEach(({ name }, i) => {
    if (found[i + 1]?.name === name) throw new Error(`two rules are named ${name}`)
  })
  return found
}
