/**
 * The peer: Fastify with its JSON schemas for body and answers, its CORS plugin and its trusted proxies, over the same two
 * scripts.
 *
 *     node scripts/bench/servers/fastify.ts redis://…
 */
import { promisify } from "node:util"
import cors from "@fastify/cors"
import fastify from "fastify"
import { inProcesses } from "./processes.ts"
import { bodyOf, makeDecide } from "./scripts.ts"

const strings = {
  type: "object",
  maxProperties: 64,
  additionalProperties: { type: "string", maxLength: 4096 },
} as const
const text = { type: "string" } as const

const serve = async (): Promise<void> => {
  const decide = promisify(makeDecide(process.argv[2] ?? ""))
  const app = fastify({ trustProxy: "127.0.0.1", logger: false })
  await app.register(cors, { origin: ["https://shop.example"], credentials: true })
  app.post("/api/session/request", {
    schema: {
      body: {
        type: "object",
        properties: {
          uniqueRequestId: text,
          campaignId: text,
          regionId: text,
          transportType: { enum: [0, 1] },
          clientIdentifier: { type: "string", minLength: 1, maxLength: 256, pattern: "^[^/\\\\]*$" },
          dynamicVariables: strings,
          metadata: strings,
          audioConfiguration: { type: "object" },
        },
      },
      response: {
        200: {
          type: "object",
          properties: { status: text, webSocketUrl: text, sessionId: text, uniqueRequestId: text },
        },
        202: {
          type: "object",
          properties: {
            status: text,
            uniqueRequestId: text,
            queuePosition: { type: "integer" },
            estimatedWaitSeconds: { type: "number", nullable: true },
            eventsUrl: text,
          },
        },
        429: {
          type: "object",
          properties: {
            type: text,
            title: text,
            status: { type: "integer" },
            detail: text,
            code: text,
            message: text,
            retryAfterSeconds: { type: "integer" },
            limit: text,
          },
        },
      },
    },
    handler: async (request, reply) => {
      const decision = await decide(request.ip, JSON.stringify(request.body))
      if (decision === undefined) throw new Error("nothing was decided")
      if (decision.status === 429) reply.header("retry-after", Math.ceil(decision.resetMillis / 1000))
      return reply.code(decision.status).send(bodyOf(decision))
    },
  })
  console.log(`listens at ${await app.listen({ host: "127.0.0.1", port: 0 })}`)
}

inProcesses(serve)
