/** The dashboard's built page and a fake of its API on one port: what a browser needs to try the page. Tests steer it and look inside. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Exit, Layer, Scope } from "effect"
import { HttpRouter } from "effect/http"
import { page } from "../../../src/platform/http/dashboard/page.ts"
import { preview } from "../../../src/platform/http/dashboard/preview.ts"
import type { Business } from "../../../src/platform/http/dashboard/shapes.ts"
import { fakeApi } from "./fake-dashboard-api.ts"
import { makeState, type State } from "./fake-dashboard-state.ts"

export interface FakeDashboard {
  readonly url: string
  readonly state: State
  /** answers nothing below the API until `true`: connections break */
  readonly allowRequests: (allowed: boolean) => void
  readonly stop: () => Promise<void>
}

/** Starts it on a free port of 127.0.0.1. */
export const startFakeDashboard = async (options: {
  /** where the built page is */
  readonly page: string
  readonly businesses?: ReadonlyArray<Business>
}): Promise<FakeDashboard> => {
  const state = makeState(options.businesses ?? [])
  let server: Server | undefined
  let allowed = true
  const app = HttpRouter.serve(Layer.mergeAll(fakeApi(state), page(options.page), preview), {
    disableLogger: true,
    disableListenLog: true,
  }).pipe(
    Layer.provide(
      NodeHttpServer.layer(
        () => {
          server = createServer()
          // Heard before the router: a connection that breaks is never answered.
          server.prependListener("request", ({ url, socket }) => {
            if (!allowed && url?.startsWith("/dashboard/") === true) socket.destroy()
          })
          return server
        },
        { host: "127.0.0.1", port: 0, disablePreemptiveShutdown: true },
      ),
    ),
  )
  const scope = Scope.makeUnsafe()
  await Effect.runPromise(Layer.buildWithScope(app, scope))
  const address = server?.address()
  if (address === null || address === undefined || typeof address === "string") throw new Error("no port")
  const { port }: AddressInfo = address

  return {
    url: `http://127.0.0.1:${port}/`,
    state,
    allowRequests: (value) => {
      allowed = value
      if (!value) server?.closeAllConnections()
    },
    stop: async () => {
      server?.closeAllConnections()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    },
  }
}
