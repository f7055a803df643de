/** Every endpoint of the gate, its console and the platform, read from the definitions that serve them, with good bodies. */
import { Arbitrary, Effect, type Schema } from "effect"
import { HttpApi, type HttpApiGroup } from "effect/http-api"
import { Documented } from "../../src/http/Api.ts"
import { ConsoleApi } from "../../src/operator/Api.ts"
import { Api as PlatformApi } from "../../src/platform/http/Api.ts"
import { DashboardApi } from "../../src/platform/http/DashboardApi.ts"
import type { Json } from "./mutate.ts"

export interface Endpoint {
  readonly method: string
  /** with `:name` where a parameter stands */
  readonly path: string
  /** good bodies; empty for an endpoint that takes none */
  readonly bodies: ReadonlyArray<Json>
}

/** How many good bodies an endpoint begins with. */
const BODIES = 100

const bodiesOf = (schema: Schema.Top, seed: number): ReadonlyArray<Json> => {
  const samples = Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: BODIES, seed, size: 6 })
  // as they go over the wire: a secret and a time are texts there
  return Effect.runSync(samples).map((value) => JSON.parse(JSON.stringify(value) ?? "null"))
}

const endpointsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  seed: number,
): ReadonlyArray<Endpoint> => {
  const endpoints: Array<Endpoint> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const schemas = [...endpoint.payload.values()].flatMap(({ schemas }) => [...schemas])
      const bodies = schemas.flatMap((schema) => bodiesOf(schema, seed))
      endpoints.push({ method: endpoint.method, path: endpoint.path, bodies })
    },
  })
  return endpoints
}

export interface Surface {
  readonly gate: ReadonlyArray<Endpoint>
  readonly console: ReadonlyArray<Endpoint>
  readonly platform: ReadonlyArray<Endpoint>
  readonly dashboard: ReadonlyArray<Endpoint>
}

/** The same for the same seed. */
export const surfaceOf = (seed: number): Surface => ({
  gate: endpointsOf(Documented, seed),
  console: endpointsOf(ConsoleApi, seed),
  platform: endpointsOf(PlatformApi, seed),
  dashboard: endpointsOf(DashboardApi, seed),
})
