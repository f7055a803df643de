/**
 * The commands of the local platform: `platform` serves it, `platform user …` and `platform key …` manage users and their keys. The connection string, the vault's key
 * and passwords can be set in the environment, where secrets belong.
 */
import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { IpNetwork } from "effect/net"
import {
  DEFAULT_CALL_CONCURRENCY,
  DEFAULT_CONNECTIONS,
  DEFAULT_IDLE_SECONDS,
  DEFAULT_LIMITS,
} from "../../platform/defaults.ts"
import { headerName } from "../../settings/values/network.ts"
import { email, PASSWORD, storage } from "./flags.ts"
import { keyCommand } from "./key.ts"

/** Loaded when one of the commands runs. */
const implementation = Effect.promise(() => import("./run.ts"))

/** A day, which is also the maximum length of a call. */
const MAX_IDLE_SECONDS = 86_400

const serving = {
  host: Flag.String("host").pipe(
    Flag.withDescription("the address to listen on, 127.0.0.1 by default"),
    Flag.withDefault("127.0.0.1"),
  ),
  port: Flag.Int("port").pipe(
    Flag.withDescription("the port to listen on, 8090 by default; 0 is any free one"),
    Flag.filter(
      (port) => port >= 0 && port <= 65_535,
      () => "Expected a whole number from 0 to 65535",
    ),
    Flag.withDefault(8090),
  ),
  region: Flag.String("region").pipe(
    Flag.withDescription("a region in which sessions may be started; may be repeated"),
    Flag.atLeast(0),
  ),
  publicWebSocketOrigin: Flag.String("public-websocket-origin").pipe(
    Flag.withDescription("where browsers reach this platform's WebSockets, such as wss://calls.example"),
    Flag.optional,
  ),
  privateWebhooks: Flag.Boolean("private-webhooks").pipe(
    Flag.withDescription("let webhooks go to private networks and this machine"),
    Flag.withDefault(false),
  ),
  trustedProxy: Flag.String("trusted-proxy").pipe(
    Flag.withDescription("a network (CIDR) whose --client-address-header is trusted; may be repeated"),
    Flag.mapTryCatch(
      (text) => IpNetwork.fromStringUnsafe(text),
      () => "Expected a network such as 10.0.0.0/8",
    ),
    Flag.atLeast(0),
  ),
  clientAddressHeader: Flag.String("client-address-header").pipe(
    Flag.withDescription(
      "the header in which trusted proxies name the caller's address: X-Forwarded-For, Forwarded, or one of a CDN such as CF-Connecting-IP",
    ),
    Flag.filterMap(Schema.decodeUnknownOption(headerName), () => "Expected the name of a request header"),
    Flag.withDefault("x-forwarded-for"),
  ),
  connectionsPerAddress: Flag.Int("connections-per-address").pipe(
    Flag.withDescription("open connections of one address (IPv6: of a /64), trusted proxies excepted; 0 is no limit"),
    Flag.filter(
      (count) => count >= 0,
      () => "Expected a whole number of at least 0",
    ),
    Flag.withDefault(DEFAULT_CONNECTIONS),
  ),
  allowedHost: Flag.String("allowed-host").pipe(
    Flag.withDescription(
      "a name that a request's Host may have, without port, or *; may be repeated; by default the names of this machine on loopback, else *",
    ),
    Flag.atLeast(0),
  ),
  requestsPerMinute: Flag.Int("requests-per-minute").pipe(
    Flag.withDescription(`request limit of one key, ${DEFAULT_LIMITS.requestsPerMinute} by default; 0 is no limit`),
    Flag.withDefault(DEFAULT_LIMITS.requestsPerMinute),
  ),
  startsPerMinute: Flag.Int("starts-per-minute").pipe(
    Flag.withDescription(
      `limit of session and call starts of one key, ${DEFAULT_LIMITS.startsPerMinute} by default; 0 is no limit`,
    ),
    Flag.withDefault(DEFAULT_LIMITS.startsPerMinute),
  ),
  idleSeconds: Flag.Int("idle-seconds").pipe(
    Flag.withDescription(
      `how long a caller may be silent before the session ends, ${DEFAULT_IDLE_SECONDS} by default; 0 is no limit`,
    ),
    Flag.filter(
      (seconds) => seconds >= 0 && seconds <= MAX_IDLE_SECONDS,
      () => `Expected a whole number from 0 to ${MAX_IDLE_SECONDS}`,
    ),
    Flag.withDefault(DEFAULT_IDLE_SECONDS),
  ),
}

const serve = Command.make("platform", { ...storage, ...serving }, (input) =>
  Effect.flatMap(implementation, ({ servePlatform }) => servePlatform(input)),
)

const passwordStdin = Flag.Boolean("password-stdin").pipe(
  Flag.withDescription(`read the password from standard input; otherwise it is ${PASSWORD}, or generated and printed`),
  Flag.withDefault(false),
)

const addUser = Command.make(
  "add",
  {
    ...storage,
    email,
    name: Flag.String("name").pipe(
      Flag.withDescription("the user's name; by default the e-mail address"),
      Flag.optional,
    ),
    concurrency: Flag.Int("concurrency").pipe(
      Flag.withDescription("calls that may run at once"),
      Flag.withDefault(DEFAULT_CALL_CONCURRENCY),
    ),
    passwordStdin,
  },
  (input) => Effect.flatMap(implementation, ({ addUser }) => addUser(input)),
).pipe(Command.withDescription("Create a user who can sign in to the dashboard"))

const listUsers = Command.make("list", storage, (input) =>
  Effect.flatMap(implementation, ({ listUsers }) => listUsers(input)),
).pipe(Command.withDescription("List the users"))

const setPassword = Command.make("password", { ...storage, email, passwordStdin }, (input) =>
  Effect.flatMap(implementation, ({ setPassword }) => setPassword(input)),
).pipe(Command.withDescription("Set a new password, and end all sign-ins of the user"))

const disable = Command.make("disable", { ...storage, email }, (input) =>
  Effect.flatMap(implementation, ({ setDisabled }) => setDisabled(input, true)),
).pipe(Command.withDescription("End a user's sign-ins at once, and refuse the user's keys within 30 s"))

const enable = Command.make("enable", { ...storage, email }, (input) =>
  Effect.flatMap(implementation, ({ setDisabled }) => setDisabled(input, false)),
).pipe(Command.withDescription("Let a disabled user sign in again, and accept the user's keys again"))

export const platform = serve.pipe(
  Command.withDescription("Serve the local platform: users, businesses, API keys, sessions, and its REST API"),
  Command.withSubcommands([
    Command.make("user").pipe(
      Command.withDescription("The platform's users"),
      Command.withSubcommands([addUser, listUsers, setPassword, disable, enable]),
    ),
    keyCommand,
  ]),
)
