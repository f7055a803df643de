/**
 * The reference server "fastify": Fastify with JSON schemas for body and answers, its CORS plugin and trusted proxies, over the same
 * two rules, with the same headers as the gate's answers. It does not log and has no metrics.
 *
 *     node scripts/bench/servers/fastify.ts redis://…
 */
import cors from "@fastify/cors"
import fastify from "fastify"
import { limits } from "../support/limits.ts"
import { inProcesses } from "./processes.ts"
import { bodyOf, makeDecideAsync } from "./scripts.ts"

const strings = {
  type: "object",
  maxProperties: 64,
  additionalProperties: { type: "string", maxLength: 4096 },
} as const
const text = { type: "string" } as const

const serve = async (): Promise<void> => {
  const decide = makeDecideAsync(process.argv[2] ?? "")
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
      reply.headers({ "cache-control": "no-store", "x-content-type-options": "nosniff" })
      if (decision.status === 429) {
        const seconds = Math.ceil(decision.resetMillis / 1000)
        reply.headers({
          "retry-after": seconds,
          "ratelimit-policy": `"hour";q=${limits.hourly};w=3600, "day";q=${limits.daily};w=86400`,
          ratelimit: `"hour";r=0;t=${seconds}`,
        })
      }
      return reply.code(decision.status).send(bodyOf(decision))
    },
  })
  console.log(`listens at ${await app.listen({ host: "127.0.0.1", port: 0 })}`)
}

inProcesses(serve)
