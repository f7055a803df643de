/** Vendors whose SDK joins a room of LiveKit. LiveKit's own server is on loopback. */
import { once } from "node:events"
import { expect, it } from "vitest"
import { WebSocketServer } from "ws"
import { makeFakeLiveKit } from "../../../src/platform-api/livekit/fake.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { eventually } from "../../harness/process.ts"
import { state, type VendorPages } from "./pages.ts"

export const rooms = (pages: VendorPages): void => {
  it("LiveKit: livekit-client signals to the server with the gate's token, and a refusal gives the slot back", async () => {
    const fake = makeFakeLiveKit(Date.now)
    const joined: Array<string | undefined> = []
    const server = new WebSocketServer({
      host: "127.0.0.1",
      port: 0,
      verifyClient: ({ req }, decide) => {
        const { pathname, searchParams } = new URL(req.url ?? "", "http://loopback")
        const token = searchParams.get("access_token") ?? ""
        if (/^\/rtc(\/v1)?$/.test(pathname))
          joined.push(fake.join({ shape: "url+token", platform: "livekit", url: "", token }))
        decide(false, 503)
      },
    })
    await once(server, "listening")
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
    const livekit = {
      Url: `ws://127.0.0.1:${address.port}`,
      ApiKey: "APIfakeLiveKit",
      ApiSecret: "secret-of-the-fake-livekit-server",
    }
    try {
      const tab = await pages.talk("livekit", fake, async () => {}, { LiveKit: livekit })
      await eventually("the signalling", () => joined.length > 0)
      expect(joined[0]).toMatch(/^voicegate-/)
      await state(tab, "ended")
      await pages.reported()
    } finally {
      server.close()
    }
  })

  it("Retell: retell-client-js-sdk signals with the call's access token", async () => {
    const fake = makeFakeRetell(Date.now)
    const joined: Array<string | undefined> = []
    const tab = await pages.talk("retell", fake, ({ context }) =>
      context.routeWebSocket(/^wss:\/\/retell-ai-\w+\.livekit\.cloud\/rtc/, (socket) => {
        const token = new URL(socket.url()).searchParams.get("access_token") ?? ""
        joined.push(fake.join({ shape: "token", platform: "retell", token }))
        void socket.close({ code: 4001, reason: "refused" })
      }),
    )
    await eventually("the signalling", () => joined.length > 0)
    expect(joined[0]).toBe("call_1")
    await state(tab, "ended")
    await pages.reported()
  })

  it("Ultravox: ultravox-client opens the call's address, and then the room that it names", async () => {
    const fake = makeFakeUltravox(Date.now)
    const joined: Array<string | undefined> = []
    const rooms: Array<string | null> = []
    const tab = await pages.talk("ultravox", fake, async ({ context }) => {
      await context.routeWebSocket(/^wss:\/\/ultravox\.example\//, (socket) => {
        joined.push(fake.join({ shape: "url", platform: "ultravox", url: socket.url() }))
        socket.send(
          JSON.stringify({ type: "room_info", roomUrl: "wss://room.ultravox.example", token: "token-of-the-room" }),
        )
      })
      await context.routeWebSocket(/^wss:\/\/room\.ultravox\.example\/rtc/, (socket) => {
        rooms.push(new URL(socket.url()).searchParams.get("access_token"))
      })
    })
    await eventually("the room", () => rooms.length > 0)
    expect([joined, rooms[0]]).toEqual([["call-1"], "token-of-the-room"])
    await pages.leave(tab)
  })
}
