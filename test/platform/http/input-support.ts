/** A platform, asked as a key over the REST API and as a signed-in user over the dashboard's API. */
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import * as Platform from "../../../src/platform/Platform.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import { cheapPasswords } from "../../support/passwords.ts"
import { prepare } from "../support.ts"
import { restClient } from "./rest-client.ts"

const readSaid = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.optionalKey(Schema.String) }))

export const running = Effect.fnUntraced(function* (options: Platform.Options = {}) {
  const context = yield* Layer.build(
    Platform.layer({ limits: { requestsPerMinute: 0, startsPerMinute: 0 }, ...options }).pipe(
      Layer.provide(cheapPasswords),
    ),
  )
  const { keys } = yield* Effect.provideContext(prepare(), context)
  const { baseUrl, origin } = Context.get(context, Platform.Platform)
  const call = restClient(baseUrl)
  /** a request to the dashboard's API by a signed-in user */
  const signIn = Effect.gen(function* () {
    const password = Redacted.make("a long enough password")
    yield* Context.get(context, Users).create({ id: "owner", email: "owner@example.com", name: "Owner", password })
    const ask = (cookie: string, method: string, path: string, body?: unknown) =>
      Effect.promise(async () => {
        const response = await fetch(`${origin}/dashboard/api/${path}`, {
          method,
          headers: { origin, cookie, "content-type": "application/json" },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        const { message = "" } = text === "" ? {} : readSaid(JSON.parse(text))
        return { status: response.status, message, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" }
      })
    const { cookie } = yield* ask("", "POST", "session", {
      email: "owner@example.com",
      password: Redacted.value(password),
    })
    return (method: string, path: string, body?: unknown) => ask(cookie, method, path, body)
  })
  return { keys, origin, call, signIn }
})
