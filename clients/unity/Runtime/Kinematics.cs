// Axes and forward kinematics, apart from Unity's own types.
using System.Collections.Generic;

namespace Duocap
{
    public struct Vec3
    {
        public float X, Y, Z;
        public Vec3(float x, float y, float z) { X = x; Y = y; Z = z; }
        public static Vec3 operator +(Vec3 a, Vec3 b) { return new Vec3(a.X + b.X, a.Y + b.Y, a.Z + b.Z); }
    }

    public struct Quat
    {
        public float X, Y, Z, W;
        public Quat(float x, float y, float z, float w) { X = x; Y = y; Z = z; W = w; }

        /// The rotation b followed by a.
        public static Quat operator *(Quat a, Quat b)
        {
            return new Quat(
                a.W * b.X + a.X * b.W + a.Y * b.Z - a.Z * b.Y,
                a.W * b.Y - a.X * b.Z + a.Y * b.W + a.Z * b.X,
                a.W * b.Z + a.X * b.Y - a.Y * b.X + a.Z * b.W,
                a.W * b.W - a.X * b.X - a.Y * b.Y - a.Z * b.Z);
        }

        public Vec3 Rotate(Vec3 v)
        {
            float tx = 2 * (Y * v.Z - Z * v.Y), ty = 2 * (Z * v.X - X * v.Z), tz = 2 * (X * v.Y - Y * v.X);
            return new Vec3(v.X + W * tx + Y * tz - Z * ty, v.Y + W * ty + Z * tx - X * tz, v.Z + W * tz + X * ty - Y * tx);
        }
    }

    public static class Kinematics
    {
        /// From the stream's axes (right-handed, Y up, facing +Z) to Unity's (left-handed, Y up, facing +Z): the x axis is mirrored.
        public static Vec3 ToUnity(Vec3 p) { return new Vec3(-p.X, p.Y, p.Z); }
        public static Quat ToUnity(Quat q) { return new Quat(q.X, -q.Y, -q.Z, q.W); }

        /// Orientation and place of every joint in the world, in Unity's axes: G = G_parent L, p = p_parent + G_parent offset.
        public static void Globals(Skeleton skeleton, Pose pose, Quat[] rotations, Vec3[] places)
        {
            for (int j = 0; j < skeleton.Names.Count; j++)
            {
                Quat local = ToUnity(pose.Rotations[j]);
                int parent = skeleton.Parents[j];
                rotations[j] = parent < 0 ? local : rotations[parent] * local;
                places[j] = parent < 0 ? ToUnity(pose.Root) : places[parent] + rotations[parent].Rotate(ToUnity(skeleton.Offsets[j]));
            }
        }

        /// How high the hips are above the left foot in the rest pose [m].
        public static float HipsHeight(Skeleton skeleton)
        {
            var heights = new List<float>();
            for (int j = 0; j < skeleton.Names.Count; j++)
            {
                int parent = skeleton.Parents[j];
                heights.Add(parent < 0 ? 0 : heights[parent] + skeleton.Offsets[j].Y);
                if (IsLeftFoot(skeleton, j)) return -heights[j];
            }
            return 0;
        }

        public static bool IsLeftFoot(Skeleton skeleton, int joint)
        {
            string vrm;
            return skeleton.Humanoid.TryGetValue(skeleton.Names[joint], out vrm) && vrm == "leftFoot";
        }
    }
}
