/**
 * The reference server "fastify": Fastify with JSON schemas for body and answers, its CORS plugin and trusted proxies, over the two rules
 * of `scripts.ts`. It does not log and has no metrics.
 *
 *     node scripts/bench/servers/fastify.ts redis://…
 */
import { randomUUID } from "node:crypto"
import cors from "@fastify/cors"
import fastify from "fastify"
import { Redis } from "ioredis"
import { inProcesses } from "./processes.ts"
import { awaited, byIoredis } from "./scripts.ts"

const texts = { type: "object", maxProperties: 64, additionalProperties: { type: "string", maxLength: 4096 } } as const
const text = { type: "string" } as const
const count = { type: "integer" } as const

const serve = async (): Promise<void> => {
  const { admit, limit } = awaited(await byIoredis(new Redis(process.argv[2] ?? "")))
  const app = fastify({ trustProxy: "127.0.0.1", logger: false })
  await app.register(cors, { origin: ["https://shop.example"], credentials: true })
  app.post("/api/session/request", {
    schema: {
      body: {
        type: "object",
        properties: {
          campaignId: text,
          regionId: text,
          transportType: { enum: [0, 1] },
          clientIdentifier: { type: "string", minLength: 1, maxLength: 256, pattern: "^[^/\\\\]*$" },
          dynamicVariables: texts,
          metadata: texts,
          audioConfiguration: { type: "object", additionalProperties: count },
        },
      },
      response: {
        "2xx": { type: "object", properties: { status: text, sessionId: text, position: count } },
        429: { type: "object", properties: { error: text, retryAfter: count } },
      },
    },
    handler: async (request, reply) => {
      const seconds = await limit(request.ip)
      if (seconds > 0) {
        return reply.code(429).header("retry-after", seconds).send({ error: "rate_limited", retryAfter: seconds })
      }
      const sessionId = randomUUID()
      const position = await admit(sessionId)
      if (position === 0) return { status: "started", sessionId }
      return reply.code(202).send({ status: "queued", sessionId, position })
    },
  })
  console.log(`listens at ${await app.listen({ host: "127.0.0.1", port: 0 })}`)
}

inProcesses(serve)
