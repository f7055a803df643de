/** The command `platform key`: lists, changes and revokes the API keys of a user. A key is made in the dashboard, which shows its secret. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { PERMISSIONS } from "../../platform/keys/ApiKey.ts"
import { email, storage } from "./flags.ts"

/** Loaded when one of the commands runs. */
const implementation = Effect.promise(() => import("./key-run.ts"))

const shared = {
  ...storage,
  email: email.pipe(Flag.withDescription("the e-mail address of the user whose keys they are")),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("print one JSON document; times are milliseconds since 1970"),
    Flag.withDefault(false),
  ),
}

const key = Flag.String("key").pipe(Flag.withDescription("the key's id, which key list prints"))

const changes = {
  name: Flag.String("name").pipe(Flag.withDescription("a new name"), Flag.optional),
  scope: Flag.Literals("scope", ["unrestricted", "restricted"]).pipe(
    Flag.withDescription("all businesses of the user, or only each --business"),
    Flag.optional,
  ),
  business: Flag.String("business").pipe(
    Flag.withDescription(
      "the id of a business that the key is restricted to, in place of those it had; may be repeated",
    ),
    Flag.atLeast(0),
  ),
  permission: Flag.Literals("permission", PERMISSIONS).pipe(
    Flag.withDescription("what the key may do, in place of what it could; may be repeated"),
    Flag.atLeast(0),
  ),
  userManagement: Flag.Literals("user-management", ["on", "off"]).pipe(
    Flag.withDescription("whether the key may use the endpoints at and below /user"),
    Flag.optional,
  ),
}

export const keyCommand = Command.make("key").pipe(
  Command.withDescription("The API keys of a user; their secrets are never shown"),
  Command.withSubcommands([
    Command.make("list", shared, (input) => Effect.flatMap(implementation, ({ listKeys }) => listKeys(input))).pipe(
      Command.withDescription(
        "List the keys, newest first: id, display, state, scope, permissions, user management, name",
      ),
    ),
    Command.make("change", { ...shared, key, ...changes }, (input) =>
      Effect.flatMap(implementation, ({ changeKey }) => changeKey(input)),
    ).pipe(
      Command.withDescription(
        "Change the scope, the permissions, user management or the name of a key; what is not given stays. Applies within 30 s",
      ),
    ),
    Command.make("revoke", { ...shared, key }, (input) =>
      Effect.flatMap(implementation, ({ revokeKey }) => revokeKey(input)),
    ).pipe(Command.withDescription("Revoke a key, which cannot be undone: it is refused within 30 s")),
  ]),
)
