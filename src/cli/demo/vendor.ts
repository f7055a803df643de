/**
 * The demo with an agent of another vendor: the gate speaks to that vendor's fake in this process, and the page joins the fake with the
 * gate's credential. A call that ends sends the vendor's signed webhook to the gate.
 */
import { randomBytes } from "node:crypto"
import { Clock, Effect, flow, Layer, Schema } from "effect"
import { FetchHttpClient, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { GateServer } from "../../http/Listeners.ts"
import { type OpenSideband, Sideband } from "../../platform-api/shared/sideband.ts"
import type { Group, Vendor } from "../../platform-api/vendors.ts"
import { Credential } from "../../protocol/credential.ts"
import { layerFrom } from "../../settings/given.ts"
import type { FakeVendor } from "../../testing/FakeVendor.ts"
import * as fakes from "../../testing/fakes.ts"
import { server } from "../serve/serve.ts"
import { demoSettings, freePort, SLOTS } from "./demo.ts"
import { type Alter, ANY_ORIGIN, allowing, pages, telling } from "./pages.ts"

type Fake = FakeVendor & { readonly sideband?: OpenSideband }

const FAKES: { readonly [G in Group as `makeFake${G}`]: (now: () => number) => Fake } = fakes

const Call = Schema.Struct({ id: Schema.String })
const refused = HttpServerResponse.empty({ status: 403, headers: ANY_ORIGIN })

/** Tells a page of the demo which vendor is called, and that the demo's agent takes the place of the vendor's SDK. */
const withAgent =
  ({ platform }: Vendor, { heldUntilExpiry }: FakeVendor): Alter =>
  (html) =>
    telling(`data-vendor="${platform}" data-sdk="/demo-agent.js"${heldUntilExpiry === true ? " data-held" : ""}`)(
      html.replace("<voice-agent ", '<voice-agent sdk="/demo-agent.js" '),
    )

/**
 * What the demo's agent asks of the vendor's fake: `join` with a credential, and `leave` with the call's id. A page of any origin may: it
 * needs a credential of the gate.
 */
const vendorRoutes = (vendor: Vendor, fake: FakeVendor, gate: string) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const join = Effect.map(HttpServerRequest.schemaBodyJson(Credential), (credential) => fake.join(credential)).pipe(
        Effect.flatMap((id) =>
          id === undefined ? Effect.succeed(refused) : HttpServerResponse.json({ id }, { headers: ANY_ORIGIN }),
        ),
        Effect.orElseSucceed(() => refused),
      )
      const leave = HttpServerRequest.schemaBodyJson(Call).pipe(
        Effect.flatMap(({ id }) => {
          const webhook = fake.hangUp(id)
          if (webhook === undefined) return Effect.void
          const { headers, rawBody } = webhook
          return Effect.tryPromise(() =>
            fetch(`${gate}/api/webhook/${vendor.platform}`, { method: "POST", headers: { ...headers }, body: rawBody }),
          )
        }),
        Effect.as(HttpServerResponse.empty({ headers: ANY_ORIGIN })),
        Effect.orElseSucceed(() => refused),
      )
      yield* router.add("POST", "/demo/join", join)
      yield* router.add("POST", "/demo/leave", leave)
    }),
  )

const announce = ({ platform }: Vendor, consoleToken: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { url } = yield* GateServer
      yield* Effect.sync(() =>
        process.stdout.write(
          [
            "",
            `  voicegate demo   ${url}/`,
            "",
            `  The agent is of ${platform}: a fake of that vendor in this process. Nothing is sent to the vendor.`,
            `  ${SLOTS} callers can talk at once: open the page in more tabs to see the queue.`,
            `  Documentation    ${url}/docs/vendors`,
            `  Console          ${url}/console   with the token ${consoleToken}`,
            "  Stop with Ctrl-C.",
            "",
            "",
          ].join("\n"),
        ),
      )
    }),
  )

/** Runs the demo until it is stopped; the parameters are those of `demo`. */
export const vendorDemo = (
  vendor: Vendor,
  wanted: number,
  allowedOrigins: ReadonlyArray<string> = [],
  directory?: URL,
) =>
  Effect.gen(function* () {
    const port = yield* freePort(wanted)
    const clock = yield* Clock.Clock
    const fake = FAKES[`makeFake${vendor.group}`](() => clock.currentTimeMillisUnsafe())
    fake.setLimit(SLOTS)
    const consoleToken = randomBytes(12).toString("base64url")
    const settings = layerFrom(
      demoSettings({
        platform: { ...fake.settings, MaxConcurrency: SLOTS },
        port,
        consoleToken,
        webhookToken: randomBytes(24).toString("base64url"),
        allowedOrigins,
      }),
    )
    const alter = flow(withAgent(vendor, fake), allowing(allowedOrigins))
    const routes = Layer.merge(vendorRoutes(vendor, fake, `http://127.0.0.1:${port}`), pages(alter, directory))
    return yield* Layer.launch(
      announce(vendor, consoleToken).pipe(
        Layer.provide(server({ routes })),
        Layer.provide(settings),
        Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fake.fetch)),
        Layer.provide(fake.sideband === undefined ? Layer.empty : Layer.succeed(Sideband, fake.sideband)),
      ),
    )
  })
