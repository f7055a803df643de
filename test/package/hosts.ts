/** The web frameworks that mount the gate in the tests, each as its users write it. Every host has a page of its own at `/`. */
import { once } from "node:events"
import { createServer, Server } from "node:http"
import middie from "@fastify/middie"
import { serve as serveHono } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify"
import compression from "compression"
import connect from "connect"
import express from "express"
import fastify, { type FastifyInstance, type FastifyReply } from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import polka from "polka"
import type { Gate } from "../../src/index.ts"

export const PAGE = "the host's page"

/** A host that listens on a free port of 127.0.0.1. */
export interface Host {
  readonly server: Server
  readonly close: () => Promise<unknown>
}

const closing = (server: Server) => async (): Promise<void> => {
  const closed = once(server, "close")
  server.close()
  server.closeAllConnections()
  await closed
}

const listening = async (server: Server): Promise<Host> => {
  if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening")
  return { server, close: closing(server) }
}

const withFastify = async (mount: (app: FastifyInstance) => PromiseLike<unknown>): Promise<Host> => {
  const app = fastify({ forceCloseConnections: true })
  await mount(app)
  app.get("/", () => PAGE)
  await app.listen({ port: 0, host: "127.0.0.1" })
  return { server: app.server, close: () => app.close() }
}

/** Mounts the gate of `/voice` in a host. */
export type Mount = (gate: Gate) => Promise<Host>

export const hosts: Readonly<Record<string, Mount>> = {
  "node:http": (gate) =>
    listening(createServer((request, response) => gate.handler(request, response, () => response.end(PAGE)))),

  Express: (gate) => {
    const app = express()
    app.use("/voice", gate.handler)
    app.get("/", (_request, response) => void response.send(PAGE))
    return listening(createServer(app))
  },

  "Express behind compression()": (gate) => {
    const app = express()
    app.use(compression({ threshold: 0 }))
    app.use("/voice", gate.handler)
    app.get("/", (_request, response) => void response.send(PAGE))
    return listening(createServer(app))
  },

  Connect: (gate) => {
    const app = connect()
    app.use("/voice", gate.handler)
    app.use((_request, response) => void response.end(PAGE))
    return listening(createServer(app))
  },

  Polka: async (gate) => {
    const app = polka()
    app.use("/voice", gate.handler)
    app.get("/", (_request, response) => void response.end(PAGE))
    app.listen(0, "127.0.0.1")
    if (!(app.server instanceof Server)) throw new Error("Polka serves over node:http")
    if (!app.server.listening) await once(app.server, "listening")
    return { server: app.server, close: closing(app.server) }
  },

  Koa: (gate) => {
    const app = new Koa()
    app.use((context, next) => {
      if (!context.path.startsWith("/voice/")) return next()
      context.respond = false
      return gate.handler(context.req, context.res)
    })
    app.use((context) => {
      context.body = PAGE
    })
    return listening(createServer(app.callback()))
  },

  Fastify: (gate) =>
    withFastify((app) =>
      app.register(async (scope) => {
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser("*", (_request, _body, done) => done(null))
        scope.all("/voice/*", (request, reply) => {
          reply.hijack()
          gate.handler(request.raw, reply.raw)
        })
      }),
    ),

  "Fastify with middie": (gate) =>
    withFastify(async (app) => {
      await app.register(middie)
      app.use("/voice", gate.handler)
    }),

  "NestJS on Express": async (gate) => {
    class App {}
    Module({})(App)
    const app = await NestFactory.create(App, { logger: false })
    app.use("/voice", gate.handler)
    app.getHttpAdapter().get("/", (_request: unknown, response: express.Response) => void response.send(PAGE))
    await app.listen(0, "127.0.0.1")
    const server: Server = app.getHttpServer()
    return {
      server,
      close: () => {
        server.closeAllConnections()
        return app.close()
      },
    }
  },

  "NestJS on Fastify": async (gate) => {
    class App {}
    Module({})(App)
    const adapter = new FastifyAdapter({ forceCloseConnections: true })
    const app = await NestFactory.create<NestFastifyApplication>(App, adapter, { logger: false })
    app.use("/voice", gate.handler)
    app.getHttpAdapter().get("/", (_request: unknown, reply: FastifyReply) => void reply.send(PAGE))
    await app.listen(0, "127.0.0.1")
    return { server: app.getHttpServer(), close: () => app.close() }
  },

  "Hono on node": async (gate) => {
    const app = new Hono()
    app.all("/voice/*", (context) =>
      gate.fetch(context.req.raw, { address: getConnInfo(context).remote.address ?? "" }),
    )
    app.get("/", (context) => context.text(PAGE))
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1", createServer })
    if (!("closeAllConnections" in server)) throw new Error("the server is one of HTTP/1")
    if (!server.listening) await once(server, "listening")
    return { server, close: closing(server) }
  },
}
