-- Health of an InferenceService for Argo CD. Conditions come from the operator; without one that speaks of the present
-- generation nothing is known yet, so a new or edited service is Progressing, never Healthy by silence.
local health = {}
local status = obj.status
local generation = obj.metadata.generation

if status == nil or status.conditions == nil or #status.conditions == 0 then
  health.status = "Progressing"
  health.message = "Waiting for the operator to look at this service"
  return health
end

if status.observedGeneration ~= generation then
  health.status = "Progressing"
  health.message = "Waiting for the operator to look at the latest change"
  return health
end

-- These say with other words what Ready says, or are false in normal operation.
local unspoken = {Ready = true, Reconciling = true, Stalled = true, ScalingActive = true}
local ready = nil
local details = ""
for _, condition in ipairs(status.conditions) do
  if condition.type == "Ready" then
    ready = condition
  elseif condition.status ~= "True" and not unspoken[condition.type] then
    details = details .. "; " .. condition.type .. ": " .. (condition.message or condition.reason or condition.status)
  end
end

if ready == nil then
  health.status = "Progressing"
  health.message = "Waiting for the operator to say whether this service is ready"
  return health
end
if ready.observedGeneration ~= nil and ready.observedGeneration ~= generation then
  health.status = "Progressing"
  health.message = "Waiting for the operator to look at the latest change"
  return health
end

if ready.status == "True" then
  health.status = "Healthy"
elseif ready.status == "False" then
  health.status = "Degraded"
else
  health.status = "Progressing"
end
health.message = (ready.reason or "Unknown") .. ": " .. (ready.message or "") .. details
return health
