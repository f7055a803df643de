/** An OpenAPI document as one HTML page: no script, nothing from another host, readable on a phone. */
import type { OpenApi } from "effect/http-api"
import { describeFields, readNode, row, table, typeOf } from "./fields.ts"
import { code, escaped, inline, paragraphs, slug } from "./markup.ts"
import { STYLE } from "./style.ts"

const METHODS = ["get", "post", "put", "patch", "delete"] as const

interface Operation extends OpenApi.OpenAPISpecOperation {
  readonly method: string
  readonly path: string
}

const operationsOf = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<Operation> =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return operation === undefined ? [] : [{ ...operation, method: method.toUpperCase(), path }]
    }),
  )

const idOf = ({ method, path }: Operation): string => slug(`${method}-${path}`)

/** Rows of parameters or headers, whose description may be that of their schema. */
const rowsOf = (
  given: ReadonlyArray<{ name: string; schema: object; required: boolean; description?: string }>,
): ReadonlyArray<string> =>
  given.map(({ description, name, required, schema }) =>
    row({ name, required, node: { ...(description === undefined ? {} : { description }), ...readNode(schema) } }),
  )

const bodies = (label: string, content: OpenApi.OpenApiSpecContent = {}): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const node = readNode(schema)
      const fields = describeFields(label, node)
      return `<p>${code(type)}${fields === "" ? `: ${typeOf(node)}` : ""}</p>\n${fields}`
    })
    .join("\n")

const response = (status: string, { content, description, headers = {} }: OpenApi.OpenApiSpecResponse): string => {
  const rows = rowsOf(Object.entries(headers).map(([name, header]) => ({ name, ...header })))
  return `<details><summary><span class="status">${escaped(status)}</span> ${inline(description)}</summary><div>
${bodies(`Body of ${status}`, content)}
${rows.length === 0 ? "" : `<h4>Headers</h4>\n${table(`Headers of ${status}`, rows)}`}
</div></details>`
}

const operationOf = (operation: Operation): string => {
  const { description = "", method, parameters = [], path, requestBody, responses } = operation
  const id = idOf(operation)
  return `<section aria-labelledby="${id}">
<h3 id="${id}"><a href="#${id}"><span class="method">${method}</span>${escaped(path)}</a></h3>
${paragraphs(description)}
${parameters.length === 0 ? "" : `<h4>Parameters</h4>\n${table(`Parameters of ${method} ${path}`, rowsOf(parameters))}`}
${requestBody === undefined ? "" : `<h4>Request body</h4>\n${bodies(`Body of ${method} ${path}`, requestBody.content)}`}
<h4>Responses</h4>
${Object.entries(responses)
  .map(([status, given]) => response(status, given))
  .join("\n")}
</section>`
}

const schemaOf = ([name, schema]: readonly [string, unknown]): string => {
  const node = readNode(schema)
  const id = `schema-${slug(name)}`
  const fields = describeFields(name, node)
  return `<section aria-labelledby="${id}">
<h3 id="${id}"><a href="#${id}">${escaped(name)}</a></h3>
${paragraphs(node.description ?? "")}
${fields === "" ? `<p>${typeOf(node)}</p>` : fields}
</section>`
}

/** Links of descriptions are relative to the page. */
export const renderReference = (spec: OpenApi.OpenAPISpec, openApiPath: string): string => {
  const { components, info, tags } = spec
  const operations = operationsOf(spec)
  const schemas = Object.entries(components.schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const groups = tags.map(({ description = "", name }) => ({
    name,
    description,
    operations: operations.filter((operation) => operation.tags.includes(name)),
  }))
  const contents = groups.map(
    ({ name, operations }) => `<p>${escaped(name)}</p><ul>
${operations.map((each) => `<li><a href="#${idOf(each)}"><span class="method">${each.method}</span> ${escaped(each.path)}</a></li>`).join("\n")}
</ul>`,
  )
  const main = groups.map(
    (group) => `<h2 id="${slug(group.name)}">${escaped(group.name)}</h2>
${paragraphs(group.description)}
${group.operations.map(operationOf).join("\n")}`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(info.title)} · API reference</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<h1>${escaped(info.title)} API reference</h1>
${paragraphs(info.description ?? "")}
<p>As OpenAPI: <a href="${openApiPath}">openapi.json</a></p>
</header>
<div class="page">
<nav class="contents" aria-label="On this page">
${contents.join("\n")}
<p><a href="#schemas">Schemas</a></p>
</nav>
<main id="content">
${main.join("\n")}
<h2 id="schemas">Schemas</h2>
${schemas.map(schemaOf).join("\n")}
</main>
</div>
</body>
</html>
`
}
