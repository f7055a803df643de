import { describe } from "@effect/vitest"
import { onEveryStore } from "../support/stores.ts"
import { storeContract } from "./store.contract.ts"

describe("Store", () => onEveryStore(storeContract))
