# a drag law with memory
name       drag
start      sum
inputs     velocity
output     force
max_lag    5
max_degree 3

tree noise  = sum(eps)
tree drive  = sum(theta times product(now(velocity)) + sum*)
tree drag   = sum(theta times product(abs now(velocity)) + sum*)
tree memory = sum(theta times product(past(q^-1 force)) + sum*)
tree drive2  = product(now(velocity) times product*)
tree drag2   = product(abs now(velocity) times product*)
tree memory2 = product(past(q^-1 force) times product*)
tree older  = past(q^-1 past*)
