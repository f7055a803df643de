/** The real platform with users who can sign in, asked over HTTP without a browser. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Platform from "../../../src/platform/Platform.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { cheapPasswords } from "../../support/passwords.ts"

export const PASSWORD = "correct horse battery"

/** The folder of a page, with a file beside it; removed with the scope. */
const pageFolder = Effect.gen(function* () {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "voicegate-page-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true })),
  )
  const page = join(directory, "page")
  yield* Effect.promise(async () => {
    await mkdir(page)
    await writeFile(join(directory, "beside.txt"), "not of the page")
    await writeFile(join(page, "index.html"), "<!doctype html><title>page</title>")
    await mkdir(join(page, "assets"))
    await writeFile(join(page, "assets/a-1.js"), "1")
  })
  return page
})

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** A platform with somebody who can sign in, and two who own businesses (`prepare`). Stopped with the scope. */
export const running = Effect.fnUntraced(function* (options: Platform.Options = {}) {
  const context = yield* Layer.build(
    Platform.layer({ privateWebhooks: true, dashboardPage: yield* pageFolder, ...options }).pipe(
      Layer.provide(cheapPasswords),
    ),
  )
  const { origin } = Context.get(context, Platform.Platform)
  const users = Context.get(context, Users)
  const add = (id: string, email: string) =>
    users.create({ id, name: id, email, password: Redacted.make(PASSWORD), callConcurrency: 2 })
  const send = (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    Effect.promise(async (): Promise<Answer> => {
      const response = await fetch(origin + path, {
        method,
        headers: { origin, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get("content-type")?.includes("json") === true
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} }
    })
  const signIn = (email: string, password = PASSWORD, headers: Readonly<Record<string, string>> = {}) =>
    send("POST", "/dashboard/api/session", { email, password }, headers)
  /** The requests of a signed-in user. */
  const asUser = Effect.fnUntraced(function* (email: string, more: Readonly<Record<string, string>> = {}) {
    const { headers } = yield* signIn(email, PASSWORD, more)
    const cookie = (headers.get("set-cookie") ?? "").split(";", 1)[0] ?? ""
    return (method: string, path: string, body?: unknown) => send(method, `/dashboard/api${path}`, body, { cookie })
  })
  return { context, origin, users, add, send, signIn, asUser }
})

export const code = ({ json }: Answer): unknown => json.code
