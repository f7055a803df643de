/** What a gate of its own answers at `/`, where people look first: what runs there, and where to go on. A demo has a page instead. */
import type { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { SettingsTree } from "../../settings/Settings.ts"

const textOf = ({ Security, Server: { BasePath, Docs } }: Pick<SettingsTree, "Security" | "Server">): string =>
  [
    "This is voicegate. It lets the callers of a website through to a voice agent, one after the other.",
    "It has no page of its own: your website shows the widget.",
    "",
    ...(Docs === "public" ? [`Documents   ${BasePath}/docs`] : []),
    `Widget      ${BasePath}/widget.js`,
    ...(Security.ConsoleToken.length === 0 ? [] : [`Console     ${BasePath}/console`]),
    `Health      ${BasePath}/health/ready`,
    "",
  ].join("\n")

/** Answers GET and HEAD. */
export const frontPage = (
  settings: Pick<SettingsTree, "Security" | "Server">,
): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.add("GET", "/", HttpServerResponse.text(textOf(settings), { headers: { "cache-control": "no-cache" } }))
