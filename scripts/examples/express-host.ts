/**
 * A host on Express, without Effect, that mounts the gate beside its own routes. Build first:
 *
 *     npm run build && node scripts/examples/express-host.ts            # serves, at PORT or 3000
 *     node scripts/examples/express-host.ts --once                      # makes two calls with one slot, and exits
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import express from "express"
import { createGate } from "voicegate"
import { startLocalPlatform } from "voicegate/platform"
import { selfCheck } from "./self-check.ts"

const isOnce = process.argv.includes("--once")

const app = express()
const server = createServer(app).listen(isOnce ? 0 : Number(process.env.PORT ?? 3000), "127.0.0.1")
await once(server, "listening")
const address = server.address()
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`

const webhookToken = randomUUID()
const platform = await startLocalPlatform({
  slots: 1,
  webhook: { url: `${origin}/voice/api/webhook/session-ended`, token: webhookToken },
})

const gate = await createGate(
  {
    StoreConnectionString: "memory:",
    VoiceAiPlatform: platform.settings,
    Security: { WebhookApiToken: webhookToken, BlockVpn: false, BlockProxy: false, BlockTor: false },
  },
  { basePath: "/voice", log: ({ level, message }) => console.error(`gate ${level}: ${message}`) },
)

app.use(express.json())
app.use("/voice", gate.handler)
server.on("upgrade", gate.upgrade)

// the host's own routes, one of which starts a call by itself
app.get("/", (_request, response) => {
  response.type("text/plain").send("The host's own page. The gate is at /voice.\n")
})
app.post("/call-me", async (request, response) => {
  const result = await gate.initiateWebSession(
    { RegionId: "local", DynamicVariables: { name: String(request.body?.name ?? "") } },
    { address: request.ip },
  )
  switch (result.status) {
    case "started":
      response.json({ talkAt: result.webSocketUrl, ticket: result.uniqueRequestId })
      break
    case "queued":
      response.status(202).json({ position: result.queuePosition, listenAt: result.eventsUrl })
      break
    case "refused":
      response.status(503).json({ code: result.code, message: result.message })
  }
})

const stop = async (): Promise<void> => {
  server.close()
  await gate.close()
  await platform.close()
  server.closeAllConnections()
}

if (isOnce) {
  try {
    await selfCheck(origin)
  } finally {
    await stop()
  }
} else {
  console.log(
    `Express listens at ${origin}, the gate at ${origin}/voice (its wire: ${origin}/voice/docs). Stop with Ctrl-C.`,
  )
  process.once("SIGINT", stop).once("SIGTERM", stop)
}
