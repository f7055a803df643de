import { Schema } from "effect"
import { optional, requiredWith, withDefault } from "../../settings/setting.ts"
import { baseUrl } from "../../settings/values/network.ts"
import { identifier, jsonText, oneOf, text } from "../../settings/values/values.ts"
import { api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("openai", "OpenAI", "https://api.openai.com/"),
  AgentId: requiredWith("openai", identifier, {
    own: true,
    description: "a name of your own for the agent that these settings make",
  }),
  Api: withDefault(oneOf(["realtime", "live"]), "realtime", {
    own: true,
    description: "OpenAI's API of a call: `realtime`, or `live`, which needs a `Model` of its own",
  }),
  Model: withDefault(identifier, "gpt-realtime", { description: "the model of a session" }),
  Voice: optional(identifier, "the model's", { own: true, description: "the voice of the agent" }),
  Instructions: optional(text, "the model's, or those of the prompt", {
    own: true,
    description: "the agent's instructions",
  }),
  PromptId: optional(identifier, "none", {
    own: true,
    description: "a stored prompt, which gets the request's `dynamicVariables`",
  }),
  Session: optional(jsonText, "none", {
    own: true,
    description: "further fields of the session, such as `tools`, as a JSON object in a string",
  }),
  GateUrl: optional(baseUrl, "pages get a path", {
    description:
      "public address of the gate, for the credential's `url`; needed where a host has mounted the gate below a path",
  }),
})
export type OpenAISettings = typeof Settings.Type

export const openai = vendor("OpenAI", Settings, {
  identify: byAgent,
  tellsLimit: false,
  endsCalls: true,
  blames: { key: "ApiKey", agent: "Model" },
  contradictions: ({ Api, PromptId }, isGiven) =>
    Api === "realtime"
      ? []
      : [
          ...(isGiven("Model")
            ? []
            : [{ setting: "Model", expected: "a model of the Live API, such as gpt-live-1", missing: true }]),
          ...(PromptId === undefined
            ? []
            : [
                {
                  setting: "PromptId",
                  expected: "nothing with the Live API, which has no stored prompts: use Instructions",
                  missing: false,
                },
              ]),
        ],
})
