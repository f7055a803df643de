/** A platform that can be killed, that hangs, or that refuses, at any time. It knows the requests of a gate, and no webhooks. */
import type { ServerResponse } from "node:http"
import {
  type Answer,
  type Asked,
  AT_CAPACITY,
  askedOf,
  type Listening,
  listed,
  listen,
  refused,
  reply,
  started,
  succeeded,
} from "../harness/platform-wire.ts"

/** What is wrong with it. */
export type Trouble = "killed" | "hung" | "key refused" | "region refused" | "full"

export interface MortalPlatform {
  readonly baseUrl: string
  /** From now on; undefined when nothing is wrong. */
  readonly set: (trouble: Trouble | undefined) => Promise<void>
  /** the starts that it was asked for */
  readonly starts: () => number
  readonly dispose: () => Promise<void>
}

const KEY_REFUSED = refused(401, "API_KEY_INVALID", "The API key was revoked.")
const REGION_REFUSED = refused(404, "REGION_NOT_FOUND", "There is no region eu.")

export const startMortalPlatform = async (): Promise<MortalPlatform> => {
  let trouble: Trouble | undefined
  let starts = 0
  /** undefined when it hangs */
  const answerTo = (asked: Asked): Answer | undefined => {
    if (asked.what === "start") starts++
    if (trouble === "hung") return undefined
    if (trouble === "key refused") return KEY_REFUSED
    if (asked.what === "list") return listed([])
    if (asked.what === "start") {
      if (trouble === "region refused") return REGION_REFUSED
      return trouble === "full"
        ? AT_CAPACITY
        : started({ web: `web-${starts}`, conversation: `conversation-${starts}` })
    }
    const path = asked.what === "other" ? asked.path : ""
    if (path.endsWith("/regions")) return succeeded([{ id: trouble === "region refused" ? "us" : "eu" }])
    if (path.includes("/webcampaigns/")) return succeeded({ name: "Front desk" })
    if (path.includes("/business/")) return succeeded({ name: "A business" })
    return refused(404, "NOT_FOUND", "There is no such path.")
  }
  const hanging = new Set<ServerResponse>()
  const open = (port?: number): Promise<Listening> =>
    listen((request, response) => {
      hanging.add(response)
      response.on("close", () => hanging.delete(response))
      askedOf(request).then(
        (asked) => {
          const answer = answerTo(asked)
          if (answer !== undefined) reply(response, answer)
        },
        () => response.destroy(),
      )
    }, port)
  let server: Listening | undefined = await open()
  const { origin, port } = server
  const close = async (): Promise<void> => {
    await server?.dispose()
    server = undefined
  }
  return {
    baseUrl: `${origin}api/v1`,
    starts: () => starts,
    set: async (next) => {
      trouble = next
      if (next === "killed") return close()
      // requests that hang are given up
      for (const response of hanging) response.destroy()
      server ??= await open(port)
    },
    dispose: close,
  }
}
