/** The commands `campaign`, `ticket`, `address`, `events`, `budget`, `forget` and `reload`, for operators without a browser. They ask the console's API of a running gate. */
import { Console, Effect, type FileSystem, Option, Schema, Struct } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { exitWith } from "../../lib/invocation.ts"
import type { SettingsSource } from "../../settings/load.ts"
import { baseUrl } from "../../settings/values/network.ts"
import { campaignCommands } from "../action-words.ts"
import type { ConsoleClient, ConsoleFailed } from "./console-client.ts"
import type { Printed } from "./run.ts"
import { durationOf, since, until } from "./times.ts"

/** Loaded when one of the commands runs. */
const implementation = Effect.promise(() => import("./run.ts"))

const decodeUrl = Schema.decodeUnknownOption(baseUrl)

const flags = {
  url: Flag.String("url").pipe(
    Flag.withDescription("the gate's address; by default http:// with Server.Host and Server.Port of the settings"),
    Flag.filterMap(decodeUrl, () => "Expected an http or https URL without user, query and fragment"),
    Flag.optional,
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("print the gate's answer as one JSON document"),
    Flag.withDefault(false),
  ),
}

interface Given {
  readonly url: Option.Option<string>
  readonly json: boolean
}

type Run = (implementation: typeof import("./run.ts"), client: ConsoleClient) => Effect.Effect<Printed, ConsoleFailed>

/** Where the settings are read from, as the flags of the command line say. */
type Source<R> = Effect.Effect<SettingsSource, never, R>

const failed = exitWith(1)

/** Prints what a command answers. A failure goes to standard error, so that standard output stays one document. */
const running = <R>(
  source: Source<R>,
  { json, url }: Given,
  run: Run,
): Effect.Effect<void, never, R | FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const loaded = yield* implementation
    const client = yield* loaded.connect(yield* source, Option.getOrUndefined(url))
    const { document, lines, ok } = yield* run(loaded, client)
    yield* Console.log(json ? JSON.stringify(document, null, 2) : lines.join("\n"))
    if (!ok) yield* failed
  }).pipe(Effect.catch(({ message }) => Effect.andThen(Console.error(message), failed)))

const TOKEN =
  "The operator's token is Security.ConsoleToken of the settings, or the environment variable Security__ConsoleToken. " +
  "It is never an argument, which other users of the machine could read."

const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("end them: without it, the command only says how many calls run"),
  Flag.withDefault(false),
)

/** Loaded when a command about addresses or history runs. */
const addressImplementation = Effect.promise(() => import("./address.ts"))

const range = Flag.Literals("range", ["hour", "day", "week"]).pipe(
  Flag.withDescription("the last hour by the minute, day by 10 minutes, or week by the hour"),
  Flag.withDefault("hour" as const),
)

export const address = <R>(source: Source<R>) => {
  const whose = Argument.String("address").pipe(
    Argument.withDescription(
      "an address (of IPv6 its /64), a network (/24, of IPv6 /48), or the hash of one as the console shows it",
    ),
  )
  const how = Flag.String("for").pipe(
    Flag.withDescription("how long, such as 1h, 1d or 1w; without it, until the block is lifted"),
    Flag.filterMap(durationOf, () => "Expected a time such as 30m, 1h, 1d or 1w"),
    Flag.withDefault(0),
  )
  return Command.make("address").pipe(
    Command.withShortDescription("Show the addresses that ask a running gate most, block one or lift a block"),
    Command.withDescription(`The addresses that callers have, at all campaigns of a running gate. ${TOKEN}`),
    Command.withSubcommands([
      Command.make("list", flags, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(addressImplementation, ({ listAddresses }) => listAddresses(client)),
        ),
      ).pipe(
        Command.withDescription("List the addresses that asked most in the last hour, and those that are blocked"),
      ),
      Command.make("block", { whose, how, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(addressImplementation, ({ blockAddress }) => blockAddress(client, given.whose, given.how)),
        ),
      ).pipe(
        Command.withDescription(
          "Refuse new requests of an address at all campaigns; calls and places go on. Exit code 1 when 300 are blocked already",
        ),
      ),
      Command.make("lift", { whose, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(addressImplementation, ({ liftBlock }) => liftBlock(client, given.whose)),
        ),
      ).pipe(Command.withDescription("Lift the block of an address")),
    ]),
  )
}

export const campaign = <R>(source: Source<R>) => {
  const name = Argument.String("name").pipe(Argument.withDescription("the campaign's name in the settings"))
  const actions = Struct.keys(campaignCommands).map((type) =>
    Command.make(campaignCommands[type].command, { name, ...flags }, (given) =>
      running(source, given, ({ actOn }, client) => actOn(client, given.name, type)),
    ).pipe(Command.withDescription(campaignCommands[type].description)),
  )
  return Command.make("campaign").pipe(
    Command.withShortDescription("Show the campaigns of a running gate, pause or drain them, call the next caller"),
    Command.withDescription(`The campaigns of a running gate. ${TOKEN}`),
    Command.withSubcommands([
      Command.make("list", flags, (given) =>
        running(source, given, ({ listCampaigns }, client) => listCampaigns(client)),
      ).pipe(Command.withDescription("List the campaigns: state, waiting callers, held slots, slots")),
      Command.make("show", { name, ...flags }, (given) =>
        running(source, given, ({ showCampaign }, client) => showCampaign(client, given.name)),
      ).pipe(Command.withDescription("Show a campaign's figures and the gate's health")),
      Command.make("history", { name, range, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(addressImplementation, ({ showHistory }) => showHistory(client, given.name, given.range)),
        ),
      ).pipe(
        Command.withDescription(
          "Show what happened in a campaign: who waited, slots in use, called, ended and refused callers",
        ),
      ),
      Command.make("pause", { name, until, ...flags }, (given) =>
        running(source, given, ({ pauseCampaign }, client) =>
          pauseCampaign(client, given.name, Option.getOrUndefined(given.until)),
        ),
      ).pipe(Command.withDescription("Pause: callers wait and nobody is called; calls continue")),
      Command.make("end-calls", { name, yes, ...flags }, (given) =>
        running(source, given, ({ endCalls }, client) => endCalls(client, given.name, given.yes)),
      ).pipe(
        Command.withDescription(
          "End all running calls at the platform; exit code 1 when the platform cannot be asked to end calls. Pause the campaign first if nobody is to be called then",
        ),
      ),
      ...actions,
    ]),
  )
}

export const reload = <R>(source: Source<R>) =>
  Command.make("reload", flags, (given) =>
    running(source, given, ({ reloadSettings }, client) => reloadSettings(client)),
  ).pipe(
    Command.withShortDescription("Make a running gate read its settings again"),
    Command.withDescription(
      `Make a running gate read its settings again, as the signal SIGHUP does; when they are invalid, nothing changes. ${TOKEN}`,
    ),
  )

/** Loaded when a command about events runs. */
const eventsImplementation = Effect.promise(() => import("./events.ts"))

export const events = <R>(source: Source<R>) => {
  const name = Argument.String("campaign").pipe(Argument.withDescription("the campaign's name in the settings"))
  const filter = Flag.Literals("only", ["all", "pending", "failed"]).pipe(
    Flag.withDescription("only events that wait to be delivered, or that were given up"),
    Flag.withDefault("all" as const),
  )
  const before = Flag.Int("before").pipe(Flag.withDescription("only events before this number"), Flag.withDefault(0))
  const seq = Flag.Int("seq").pipe(Flag.withDescription("the number of one event"), Flag.optional)
  const yes = Flag.Boolean("yes").pipe(
    Flag.withDescription("send again all that were given up, without asking"),
    Flag.withDefault(false),
  )
  return Command.make("events").pipe(
    Command.withShortDescription("Show the deliveries of events of a running gate, send events again"),
    Command.withDescription(`The events that a campaign sends to its host. ${TOKEN}`),
    Command.withSubcommands([
      Command.make("list", { name, only: filter, before, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(eventsImplementation, ({ listEvents }) =>
            listEvents(client, given.name, given.only, given.before),
          ),
        ),
      ).pipe(Command.withDescription("List events, newest first: state, attempts, last answer, next attempt")),
      Command.make("redeliver", { name, seq, since, yes, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(eventsImplementation, ({ redeliverEvent, redeliverFailed }) =>
            Option.match(given.seq, {
              onNone: () => redeliverFailed(client, given.name, given.since, given.yes),
              onSome: (number) => redeliverEvent(client, given.name, number),
            }),
          ),
        ),
      ).pipe(Command.withDescription("Send one event again (--seq), or all that were given up (--yes)")),
      Command.make("test", { name, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(eventsImplementation, ({ sendTestEvent }) => sendTestEvent(client, given.name)),
        ),
      ).pipe(
        Command.withDescription(
          "Send an event of the type test to the receiver, signed as every event is, and print its answer; exit code 1 when it does not take it",
        ),
      ),
    ]),
  )
}

/** Loaded when the command runs. */
const forgetImplementation = Effect.promise(() => import("./forget.ts"))

export const forget = <R>(source: Source<R>) =>
  Command.make(
    "forget",
    {
      subject: Flag.String("subject").pipe(
        Flag.withDescription("the subject of a signed token, such as customer-4711"),
        Flag.optional,
      ),
      address: Flag.String("address").pipe(
        Flag.withDescription("an IPv4 or IPv6 address; of IPv6, everything of its /64 is forgotten"),
        Flag.optional,
      ),
      yes: Flag.Boolean("yes").pipe(
        Flag.withDescription("forget: without it, the command only counts what is known"),
        Flag.withDefault(false),
      ),
      ...flags,
    },
    (given) =>
      running(source, given, (_, client) =>
        Effect.flatMap(forgetImplementation, ({ forgetCaller }) =>
          forgetCaller(client, {
            ...(Option.isNone(given.subject) ? {} : { subject: given.subject.value }),
            ...(Option.isNone(given.address) ? {} : { address: given.address.value }),
            dryRun: !given.yes,
          }),
        ),
      ),
  ).pipe(
    Command.withShortDescription("Forget a caller, by subject or address"),
    Command.withDescription(
      `Count what a running gate's store has of a caller, and with --yes remove it. What waits or is in a call is kept. ${TOKEN}`,
    ),
  )

/** Loaded when a command about budgets runs. */
const budgetImplementation = Effect.promise(() => import("./budget.ts"))

export const budget = <R>(source: Source<R>) => {
  const name = Argument.String("campaign").pipe(Argument.withDescription("the campaign's name in the settings"))
  const whose = {
    caller: Flag.String("caller").pipe(
      Flag.withDescription("of budgets of callers: whose, by the caller's address"),
      Flag.optional,
    ),
    subject: Flag.String("subject").pipe(
      Flag.withDescription("the same by the subject (sub) of the caller's token"),
      Flag.optional,
    ),
  }
  const callerOf = ({ caller, subject }: { readonly [Key in "caller" | "subject"]: Option.Option<string> }) => ({
    ...(Option.isNone(caller) ? {} : { caller: caller.value }),
    ...(Option.isNone(subject) ? {} : { subject: subject.value }),
  })
  const amount = (flag: string, description: string) =>
    Flag.Finite(flag).pipe(
      Flag.withDescription(description),
      Flag.filter(
        (value) => value > 0,
        () => "Expected a number above 0",
      ),
      Flag.withDefault(0),
    )
  const reason = Flag.String("reason").pipe(Flag.withDescription("why; it is in the audit log"))
  const id = Flag.String("id").pipe(
    Flag.withDescription("names the change, so that one which is sent again is made once; a new one when absent"),
    Flag.optional,
  )
  return Command.make("budget").pipe(
    Command.withShortDescription("Show the budgets of a running gate, add to one or take from it"),
    Command.withDescription(`The budgets of a campaign, in their present windows. ${TOKEN}`),
    Command.withSubcommands([
      Command.make("show", { name, ...whose, ...flags }, (given) =>
        running(source, given, (_, client) =>
          Effect.flatMap(budgetImplementation, ({ showBudgets }) => showBudgets(client, given.name, callerOf(given))),
        ),
      ).pipe(Command.withDescription("Show what of each budget is settled, held and left, in minutes or the currency")),
      Command.make(
        "adjust",
        {
          name,
          budget: Argument.String("budget").pipe(Argument.withDescription("the budget's name in the settings")),
          add: amount("add", "so much is added to the cap of the present window, in minutes or the currency"),
          take: amount("take", "so much is taken from it"),
          reason,
          id,
          ...whose,
          ...flags,
        },
        (given) =>
          running(source, given, (_, client) =>
            Effect.flatMap(budgetImplementation, ({ adjustBudget, changeOf }) =>
              Effect.flatMap(changeOf(given.add, given.take, Option.getOrUndefined(given.id)), (change) =>
                adjustBudget(client, given.name, {
                  ...{ budget: given.budget, reason: given.reason },
                  ...change,
                  ...callerOf(given),
                }),
              ),
            ),
          ),
      ).pipe(
        Command.withDescription(
          "Change the cap of a budget for its present window (--add or --take), with a line in the audit log; running calls that were warned go on",
        ),
      ),
    ]),
  )
}

/** Part of a ticket's hash, or a `uniqueRequestId`. */
const TICKET = /^([0-9a-f]{4,10}|[\w-]{22,64})$/i

/** What would be read as flags, although no flag of these commands looks like it: one id in 64 begins with a hyphen. */
const isTicketWithHyphen = (text: string): boolean => text.startsWith("-") && TICKET.test(text) && /[A-Z\d_]/.test(text)

/** The arguments of `ticket`, with an id that begins with a hyphen behind `--`, where it is no flag. */
export const withTicketLast = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const id = args.includes("ticket") && !args.includes("--") ? args.find(isTicketWithHyphen) : undefined
  return id === undefined ? args : [...args.filter((text) => text !== id), "--", id]
}

export const ticket = <R>(source: Source<R>) => {
  const id = Argument.String("id").pipe(
    Argument.withDescription(
      "4 to 10 characters of the ticket's hash, as the log shows it; or the whole uniqueRequestId",
    ),
    Argument.filter(
      (text) => TICKET.test(text),
      () => "Expected 4 to 10 hexadecimal digits of the ticket's hash, or the whole uniqueRequestId",
    ),
  )
  return Command.make("ticket").pipe(
    Command.withShortDescription("Show or remove a ticket of a running gate"),
    Command.withDescription(`The tickets of a running gate. ${TOKEN}`),
    Command.withSubcommands([
      Command.make("show", { id, ...flags }, (given) =>
        running(source, given, ({ showTicket }, client) => showTicket(client, given.id)),
      ).pipe(Command.withDescription("Show where a ticket is: its campaign, state and place")),
      Command.make(
        "remove",
        {
          id,
          endCall: Flag.Boolean("end-call").pipe(
            Flag.withDescription(
              "also remove it when its call starts, runs or is in doubt: a running call is ended at the platform, where it can be",
            ),
            Flag.withDefault(false),
          ),
          ...flags,
        },
        (given) => running(source, given, ({ removeTicket }, client) => removeTicket(client, given.id, given.endCall)),
      ).pipe(Command.withDescription("Remove a waiting or called ticket; its caller is told")),
    ]),
  )
}
